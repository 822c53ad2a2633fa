// Package rpc is a JSON-RPC 2.0 peer: one end of a connection on which both ends may call.
//
//	client := rpc.NewPeer(stream, rpc.Options{})
//	var sum int
//	err := client.Call(ctx, "add", []int{1, 2}, &sum)
//
// # The way of a message
//
//	            ┌──────────── reader ───────────┐
//	bytes ─► framing ─► scan ─┬─ response ──────┼─► the Pending that waits for it
//	                          ├─ cancellation ──┼─► the handler's context
//	                          └─ request or     │   ordered lane       goroutine
//	                             notification ──┼─► notifications run ─► (none)
//	                                            │   requests start ────► Handler ─┐
//	                                            └── refusals ─────────────────────┤
//	bytes ◄─ one Write for all that waits ◄───────────── outbox ◄─────────────────┘
//
// A message is scanned once. The scan validates every byte of it and notes where id, method and params lie; params are decoded
// by whoever knows their type, and results are encoded once and appended to what is going out.
//
// The reader never writes and never waits for the handler of a request, so two peers that call each other can not deadlock, however large
// their messages are. Messages leave the lane in the order in which they arrived: a notification runs to its end there, a request starts there and
// then runs beside the others. So a request sees the effect of every notification sent before it, and a slow request delays nobody. A slow
// notification handler delays what was sent behind it; start a goroutine in it if that is not wanted. One that calls the other side must do so if the
// other side, to answer, may call back: the request it waits for would wait behind it.
//
// # Bounds
//
// Everything that the other side can make grow is bounded by [Limits]. Where a bound is met, a request is answered with [ErrBusy]; notifications, which can
// neither be answered nor dropped, make the reader wait, and if then none is finished for a while they end the connection with [ErrFlooded]; a peer that sends
// but does not read ends it with [ErrSlowPeer].
// [Peer.Call] and [Peer.Notify] wait for room and honour their context while they do.
//
// # Bad messages
//
// A malformed message is answered as JSON-RPC says, with [CodeParseError] or [CodeInvalidRequest], and the connection lives. Nothing without
// a method is ever answered: two peers can not fall into a loop of errors about errors. Such messages go to [Hooks].Stray.
//
// # Closing
//
// [Peer.Close] ends everything now, [Peer.Shutdown] lets running handlers finish first. A call that
// can no longer be answered fails with an error that matches [ErrClosed] and its cause. After
// [Peer.Wait] has returned no goroutine of the peer is left, unless Close of the stream does not
// end a Read: use [Stdio] for a peer on standard input and output.
package rpc
