;; A window of 600 kB, and a loop from 64 MB to 128: the block is at 8, path_delivered at 8 + 22 * 8.
(module
  (import "windlass" "setCwnd" (func $setCwnd (param i64)))
  (memory (export "memory") 1)
  (data (i32.const 4096) "name = 'late_loop'\nsummary = 's'\nsource = 's'\nadvice = 'a'\nslows_down_at = []\nstate_bytes = 0\00")
  (func (export "windlass_abi") (result i32) (i32.const 1))
  (func (export "windlass_about") (result i32) (i32.const 4096))
  (func (export "windlass_block") (result i32) (i32.const 8))
  (func $set (export "on_start") (export "on_congestion") (export "on_rto")
    (call $setCwnd (i64.const 600000)))
  (func (export "on_ack") (call $set)
    (if (i64.lt_u (i64.sub (i64.load (i32.const 184)) (i64.const 64000000)) (i64.const 64000000))
      (then (loop $l (br $l))))))
