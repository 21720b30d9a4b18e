//! A compiled module as [`Code`], and the ways in.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use thread_local::ThreadLocal;
use wasmtime::{Config, Engine, InstancePre, Linker, Module as Compiled};
use windlass_cc::Catalog;
use windlass_cc::plugin::{Call, Code, Fault, FlowState, Health};

use crate::about::{ABOUT_BYTES_MAX, About};
use crate::error::PluginError;
use crate::host::{self, Host};
use crate::instance::{self, Instance};
use crate::{Added, FAULTS_MAX, MODULE_BYTES_MAX, check};

/// Compiled code, and what it has done.
pub(crate) struct Module {
    code: InstancePre<Host>,
    /// One for each worker.
    instances: ThreadLocal<RefCell<Option<Instance>>>,
    state_bytes: usize,
    faults: AtomicU32,
    last_fault: Mutex<Option<Fault>>,
}

impl Code for Module {
    fn call(&self, call: &Call<'_>, flow: &mut FlowState) -> Result<(), Fault> {
        if self.faults.load(Ordering::Relaxed) >= FAULTS_MAX {
            return Err(Fault::Suspended);
        }
        let mut place = self.instances.get_or_default().borrow_mut();
        let answer = self.of_thread(&mut place);
        let answer = answer.and_then(|i| i.call(call, flow));
        // Whatever is left of it may be wrong.
        answer.inspect_err(|_| *place = None)
    }

    fn on_fault(&self, fault: Fault) {
        if fault != Fault::Suspended {
            self.faults.fetch_add(1, Ordering::Relaxed);
            let mut last = self.last_fault.lock();
            **last.as_mut().unwrap_or_else(|e| e.get_mut()) = Some(fault);
        }
    }

    fn health(&self) -> Health {
        let last_fault = self.last_fault.lock();
        let faults = self.faults.load(Ordering::Relaxed);
        Health {
            faults,
            suspended: faults >= FAULTS_MAX,
            last_fault: *last_fault.unwrap_or_else(PoisonError::into_inner),
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

/// Compiles a module, tries it, and takes it into the catalog under its name: a plugin of the same name is replaced for
/// flows to come.
///
/// # Errors
/// It is not a module that can be used; nothing has changed then.
pub fn add(catalog: &mut Catalog, wasm: &[u8]) -> Result<Added, PluginError> {
    let code = compile(wasm)?;
    let about = About::read(&about_text(&code)?)?;
    let module = Arc::new(Module {
        code,
        instances: ThreadLocal::new(),
        state_bytes: about.state_bytes(),
        faults: AtomicU32::new(0),
        last_fault: Mutex::new(None),
    });
    let description = about.describe(Arc::clone(&module) as Arc<dyn Code>);
    let tried_events = check::run(&module, &description)?;
    let id = catalog.register(description)?;
    Ok(Added { id, tried_events })
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
    let at = instance::answer(
        &mut store,
        &wasm,
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
