//! A compiled module as [`Code`], and the ways in.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wasmtime::{Config, Engine, InstancePre, Linker, Module as Compiled};
use windlass_cc::plugin::{self, Call, Code, Fault, FlowState};

use crate::about::{ABOUT_BYTES_MAX, About};
use crate::error::PluginError;
use crate::host::{self, Host};
use crate::instance::{self, Instance};
use crate::{ABI_VERSION, Added, FAULTS_MAX, MODULE_BYTES_MAX, Status, check};

/// Compiled code, and what it has done.
pub(crate) struct Module {
    /// Its place among the instances of each thread.
    slot: usize,
    code: InstancePre<Host>,
    state_bytes: usize,
    faults: AtomicU32,
    last_fault: Mutex<Option<Fault>>,
}

/// All that this process has taken in, by their slots.
static MODULES: Mutex<Vec<(&'static str, Arc<Module>)>> = Mutex::new(Vec::new());

thread_local! {
    /// The instances of this worker, by slot.
    static INSTANCES: RefCell<Vec<Option<Instance>>> = const { RefCell::new(Vec::new()) };
}

impl Code for Module {
    fn call(&self, call: &Call<'_>, flow: &mut FlowState) -> Result<(), Fault> {
        if self.faults.load(Ordering::Relaxed) >= FAULTS_MAX {
            return Err(Fault::Suspended);
        }
        INSTANCES.with_borrow_mut(|instances| {
            if instances.len() <= self.slot {
                instances.resize_with(self.slot + 1, || None);
            }
            let place = &mut instances[self.slot];
            let answer = self.of_thread(place).and_then(|i| i.call(call, flow));
            // Whatever is left of it may be wrong.
            answer.inspect_err(|_| *place = None)
        })
    }

    fn on_fault(&self, fault: Fault) {
        if fault != Fault::Suspended {
            self.faults.fetch_add(1, Ordering::Relaxed);
            let mut last = self.last_fault.lock();
            **last.as_mut().unwrap_or_else(|e| e.get_mut()) = Some(fault);
        }
    }
}

impl Module {
    fn of_thread<'a>(&self, place: &'a mut Option<Instance>) -> Result<&'a mut Instance, Fault> {
        if place.is_none() {
            let made = self.instance();
            *place = Some(made.map_err(|_| Fault::Trap("it cannot begin any more"))?);
        }
        place.as_mut().ok_or(Fault::Suspended)
    }

    /// A new instance.
    pub(crate) fn instance(&self) -> Result<Instance, PluginError> {
        Instance::new(&self.code, self.state_bytes)
    }
}

/// Compiles a module, tries it, and makes it known under its name: a plugin of the same name is
/// replaced for flows to come.
///
/// # Errors
/// It is not a module that can be used; nothing has changed then.
pub fn add(wasm: &[u8]) -> Result<Added, PluginError> {
    let code = compile(wasm)?;
    let about = About::read(&about_text(&code)?)?;
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let module = Arc::new(Module {
        slot: modules.len(),
        code,
        state_bytes: about.state_bytes(),
        faults: AtomicU32::new(0),
        last_fault: Mutex::new(None),
    });
    let description = about.describe(Arc::clone(&module) as Arc<dyn Code>);
    let tried_events = check::run(&module, &description)?;
    let name = description.name;
    let id = plugin::register(description)?;
    modules.push((name, module));
    Ok(Added { id, tried_events })
}

/// How each plugin does, by name, the newest of each.
pub fn statuses() -> Vec<Status> {
    let modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let status = |(name, module): &(&'static str, Arc<Module>)| {
        let last = module.last_fault.lock();
        let last = *last.unwrap_or_else(PoisonError::into_inner);
        let faults = module.faults.load(Ordering::Relaxed);
        Status {
            name,
            faults,
            suspended: faults >= FAULTS_MAX,
            last_fault: last.map(|fault| fault.to_string()),
        }
    };
    let mut newest: Vec<Status> = modules.iter().rev().map(status).collect();
    newest.sort_by_key(|s| s.name); // stable: the newest of a name stays first
    newest.dedup_by_key(|s| s.name);
    newest
}

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let mut config = Config::new();
        config
            .consume_fuel(true)
            .cranelift_nan_canonicalization(true)
            .signals_based_traps(false)
            .max_wasm_stack(64 * 1024)
            .memory_reservation(0)
            .memory_guard_size(0)
            .wasm_multi_memory(false)
            .wasm_memory64(false)
            .wasm_relaxed_simd(false);
        Engine::new(&config).expect("these settings go together on every machine")
    })
}

fn compile(wasm: &[u8]) -> Result<InstancePre<Host>, PluginError> {
    if wasm.len() > MODULE_BYTES_MAX {
        return Err(PluginError::TooLarge(wasm.len()));
    }
    let compiled = Compiled::new(engine(), wasm).map_err(PluginError::wasm)?;
    let mut linker = Linker::new(engine());
    host::define(&mut linker).map_err(PluginError::wasm)?;
    for import in compiled.imports() {
        if linker.get_by_import(&mut unlimited(), &import).is_none() {
            return Err(PluginError::Import {
                module: import.module().to_owned(),
                name: import.name().to_owned(),
            });
        }
    }
    linker.instantiate_pre(&compiled).map_err(PluginError::wasm)
}

/// A store to look functions up in.
fn unlimited() -> wasmtime::Store<Host> {
    wasmtime::Store::new(engine(), Host::new(wasmtime::StoreLimits::default()))
}

/// The text at the address that `windlass_about` answers with, up to its zero byte.
fn about_text(code: &InstancePre<Host>) -> Result<String, PluginError> {
    let (mut store, wasm) = instance::begin(code)?;
    let mut answer = |name: &str, mend: &'static str| {
        let function = wasm.get_typed_func::<(), i32>(&mut store, name);
        let function =
            function.map_err(|_| PluginError::missing(format!("function {name}"), mend))?;
        function.call(&mut store, ()).map_err(PluginError::wasm)
    };
    let abi = answer(
        "windlass_abi",
        "export it, and let it answer with WINDLASS_ABI of windlass.h",
    )?;
    if abi != ABI_VERSION {
        return Err(PluginError::Abi(abi));
    }
    let at = answer(
        "windlass_about",
        "export it, and let it answer with the address of a text that ends with a zero byte",
    )? as u32 as usize;
    let memory = wasm
        .get_memory(&mut store, "memory")
        .ok_or_else(|| PluginError::missing("export \"memory\"", "export its memory"))?;
    let text = memory.data(&store).get(at..).unwrap_or_default();
    let text = &text[..text.len().min(ABOUT_BYTES_MAX)];
    let end = text.iter().position(|byte| *byte == 0);
    let end = end.ok_or_else(|| PluginError::About("no zero byte ends it".into()))?;
    let text = str::from_utf8(&text[..end]).map_err(|e| PluginError::About(e.to_string()))?;
    Ok(text.to_owned())
}
