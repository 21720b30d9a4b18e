//! An instance of a module: what a worker calls.

use wasmtime::{Instance as Wasm, InstancePre, Memory, Store, StoreLimitsBuilder, Trap, TypedFunc};
use windlass_cc::plugin::{Call, Event, Fault, FlowState};

use crate::block::{self, BLOCK_BYTES, STATE_AT};
use crate::host::Host;
use crate::{ABI_VERSIONS, CALL_FUEL, MEMORY_BYTES_MAX, PluginError};

type Function = TypedFunc<(), ()>;

/// One module, instantiated.
pub(crate) struct Instance {
    store: Store<Host>,
    memory: Memory,
    block_at: usize,
    state_bytes: usize,
    on_start: Function,
    on_ack: Function,
    on_congestion: Function,
    on_rto: Function,
    on_sent: Option<Function>,
    on_recovery_exit: Option<Function>,
    on_spurious: Option<Function>,
    on_idle_restart: Option<Function>,
}

const EVENTS: &str = "export on_start, on_ack, on_congestion and on_rto, all without arguments and \
                      results";

impl Instance {
    /// Makes one.
    ///
    /// # Errors
    /// The module lacks what the interface asks for, or fails while it begins.
    pub(crate) fn new(
        module: &InstancePre<Host>,
        state_bytes: usize,
    ) -> Result<Instance, PluginError> {
        let (mut store, wasm) = begin(module)?;
        let memory = wasm
            .get_memory(&mut store, "memory")
            .ok_or_else(|| PluginError::missing("export \"memory\"", "export its memory"))?;
        let block_at = answer(
            &mut store,
            &wasm,
            "windlass_block",
            "export it, and let it answer with the address of the block",
        )? as u32 as usize;
        if !block_at.is_multiple_of(8) || block_at + BLOCK_BYTES > memory.data_size(&store) {
            return Err(PluginError::missing(
                format!("block of {BLOCK_BYTES} bytes at address {block_at}"),
                "let windlass_block answer with the address of a struct windlass_block",
            ));
        }
        let mut need = |name: &str| {
            let found = wasm.get_typed_func::<(), ()>(&mut store, name);
            found.map_err(|_| PluginError::missing(format!("function {name}"), EVENTS))
        };
        let (on_start, on_ack) = (need("on_start")?, need("on_ack")?);
        let (on_congestion, on_rto) = (need("on_congestion")?, need("on_rto")?);
        let mut may_have = |name: &str| wasm.get_typed_func::<(), ()>(&mut store, name).ok();
        Ok(Instance {
            on_start,
            on_ack,
            on_congestion,
            on_rto,
            on_sent: may_have("on_sent"),
            on_recovery_exit: may_have("on_recovery_exit"),
            on_spurious: may_have("on_spurious"),
            on_idle_restart: may_have("on_idle_restart"),
            store,
            memory,
            block_at,
            state_bytes,
        })
    }

    /// Tells the module of an event of a flow.
    ///
    /// # Errors
    /// It failed: this instance may be in any state, and `flow` is as it was.
    pub(crate) fn call(&mut self, call: &Call<'_>, flow: &mut FlowState) -> Result<(), Fault> {
        let function = match call.event {
            Event::Start(_) => &self.on_start,
            Event::Ack(_) => &self.on_ack,
            Event::Congestion(_) => &self.on_congestion,
            Event::Rto => &self.on_rto,
            Event::Sent(_) => optional!(self.on_sent),
            Event::RecoveryExit => optional!(self.on_recovery_exit),
            Event::Spurious => optional!(self.on_spurious),
            Event::IdleRestart(_) => optional!(self.on_idle_restart),
        };
        let bytes = self.block_at..self.block_at + BLOCK_BYTES;
        let block = &mut self.memory.data_mut(&mut self.store)[bytes];
        block::write(block, call, flow, self.state_bytes);
        self.store.data_mut().begin(call, flow);
        self.store.set_fuel(CALL_FUEL).map_err(|_| fault(None))?;
        function
            .call(&mut self.store, ())
            .map_err(|e| fault(e.downcast_ref::<Trap>()))?;
        let state = self.block_at + STATE_AT;
        let state = &self.memory.data(&self.store)[state..state + self.state_bytes];
        flow.state[..self.state_bytes].copy_from_slice(state);
        flow.control = self.store.data().control;
        flow.steps = self.store.data().steps;
        Ok(())
    }
}

/// An event that a module need not ask for.
macro_rules! optional {
    ($function:expr) => {
        match &$function {
            Some(function) => function,
            None => return Ok(()),
        }
    };
}
use optional;

/// What a function of the module answers that takes nothing; `mend`: what to do if there is none.
pub(crate) fn answer(
    store: &mut Store<Host>,
    wasm: &Wasm,
    name: &str,
    mend: &'static str,
) -> Result<i32, PluginError> {
    let function = wasm.get_typed_func::<(), i32>(&mut *store, name);
    let function = function.map_err(|_| PluginError::missing(format!("function {name}"), mend))?;
    function.call(store, ()).map_err(PluginError::wasm)
}

/// A store with its limits, and the module in it, which speaks a version that Windlass speaks.
pub(crate) fn begin(module: &InstancePre<Host>) -> Result<(Store<Host>, Wasm), PluginError> {
    let limits = StoreLimitsBuilder::new()
        .memory_size(MEMORY_BYTES_MAX)
        .table_elements(1024)
        .instances(1)
        .memories(1)
        .tables(1)
        .build();
    let mut store = Store::new(module.module().engine(), Host::new(limits));
    store.limiter(|host| &mut host.limits);
    store.set_fuel(CALL_FUEL).map_err(PluginError::wasm)?;
    let wasm = module.instantiate(&mut store).map_err(PluginError::wasm)?;
    store.set_fuel(CALL_FUEL).map_err(PluginError::wasm)?;
    let version = answer(
        &mut store,
        &wasm,
        "windlass_abi",
        "export it, and let it answer with WINDLASS_ABI of windlass.h",
    )?;
    if !ABI_VERSIONS.contains(&version) {
        return Err(PluginError::Abi(version));
    }
    store.data_mut().speak(version);
    Ok((store, wasm))
}

fn fault(trap: Option<&Trap>) -> Fault {
    Fault::Trap(match trap {
        Some(Trap::OutOfFuel) => return Fault::OutOfTime,
        Some(Trap::StackOverflow) => "its stack overflowed",
        Some(Trap::MemoryOutOfBounds) => "it touched memory that is not its own",
        Some(Trap::IntegerDivisionByZero) => "it divided by zero",
        Some(Trap::IntegerOverflow) => "a division overflowed",
        Some(Trap::BadConversionToInteger) => "it made a whole number of what is none",
        Some(Trap::UnreachableCodeReached) => "it reached what it calls unreachable (a panic)",
        Some(Trap::TableOutOfBounds | Trap::IndirectCallToNull | Trap::BadSignature) => {
            "it called a function that there is not"
        }
        Some(_) => "it did what is not allowed",
        None => "the call could not be made",
    })
}
