// Package rpc is a JSON-RPC 2.0 peer: one end of a connection on which both ends may call.
//
//	client := rpc.NewPeer(stream, rpc.Options{})
//	var sum int
//	err := client.Call(ctx, "add", []int{1, 2}, &sum)
//
// A [Router] serves methods with typed handlers:
//
//	var router rpc.Router
//	rpc.Handle(&router, "add", func(ctx context.Context, terms []int) (int, error) { ... })
//	server := rpc.NewPeer(stream, rpc.Options{Handler: router.Serve})
//
// A stream is standard input and output ([Stdio]), a connection of a listener (package socket), a
// reader and a writer ([Stream]), or anything else that reads, writes and closes. [Pipe] connects
// two peers in memory. Package rpchttp serves and calls methods with an HTTP POST for each message.
//
// # The path of a message
//
//	            ┌──────────── reader ───────────┐
//	bytes ─► framing ─► scan ─┬─ response ──────┼─► the Call with its id
//	                          ├─ cancellation ──┼─► the handler's context
//	                          └─ request or     │   ordered lane       goroutine
//	                             notification ──┼─► notifications run ─► (none)
//	                                            │   requests start ────► Handler ─┐
//	                                            └── refusals ─────────────────────┤
//	bytes ◄─ one Write for all small frames ◄──────────── outbox ◄────────────────┘
//
// A message is scanned once. The scan validates every byte and finds the id, the method and the
// params. Params are decoded by the handler, which knows their type. A result is encoded once and
// appended to the outbox.
//
// The reader never writes and never waits for the handler of a request, so two peers that call each
// other cannot deadlock, however large their messages are. Messages leave the lane in order of
// arrival: a notification runs to its end in the lane; a request starts there and then runs on its
// own goroutine. So a request sees the effect of every notification sent before it, and a slow
// request delays no other message. A slow notification handler delays everything sent after it, so
// it should start a goroutine for slow work. A notification handler must also start a goroutine to
// call the other side if the other side may send a request before it responds: that request would
// wait in the lane for the handler to return.
//
// # Request ids
//
// A request with the id of another request that is still being served is refused with
// [CodeInvalidRequest] and a null id, and the first request continues. The refusal cannot carry the
// id, because the other side would take it for the response to the first request. An id may be used
// again as soon as its response has arrived. The id of a cancelled request that gets no response is
// free when its handler has returned.
//
// With [Options].IgnoreMalformed, which package client sets, a peer sends no error with a null id,
// so it drops such a request and only reports it to [Hooks].Stray. The program at the other end of
// a client's pipe may print anything to its standard output, and its libraries often do. That
// program could not relate an error without an id to anything it printed.
//
// # Bounds
//
// [Limits] bounds everything that the other side can make grow. At a bound, a request is refused
// with [ErrBusy]. A notification can be neither refused nor dropped, so the reader waits for room;
// if no notification finishes within 10 seconds, the connection ends with [ErrFlooded]. If refusals
// pile up because the other side does not read, it ends with [ErrSlowPeer]. [Peer.Call] and
// [Peer.Notify] wait for room until their context ends.
//
// A peer that has sent all it may and then neither reads nor sends costs at most, in bytes and with
// the default limits:
//
//	a frame being read                 MaxFrame                   64 MiB
//	requests that wait or run          MaxQueuedBytes            128 MiB
//	notifications that wait or run     MaxQueuedBytes            128 MiB
//	frames being written               MaxUnsent + one frame      65 MiB
//	frames queued behind them          MaxUnsent + one frame      65 MiB
//	responses that wait for room       MaxResponses              128 MiB
//	total                                                        578 MiB
//
// The total does not include the memory of up to MaxRunning handlers, of handlers that called
// [Request.Detach], whose number the application must bound, and of up to MaxPending calls of this
// side, a few hundred bytes each. With [Options].Batch, each batch that is not finished may hold
// another MaxAppend bytes of responses. Lower MaxFrame, MaxQueuedBytes and MaxResponses to serve
// many peers that are not trusted.
//
// Silence does not end a connection, because JSON-RPC has no keep-alive and an idle connection is
// valid. A connection ends when Read or Write of the stream returns an error or io.EOF, for example
// after a deadline, a failed TCP keep-alive or the exit of a process. This side ends it with
// [Peer.Close], [Peer.Shutdown] or the end of [Options].Context. To detect a peer that hangs, call
// one of its methods with a deadline, and close the connection if the call fails.
//
// # Malformed messages
//
// A malformed message is answered with [CodeParseError] or [CodeInvalidRequest] (sections 4 and
// 5.1), and the connection continues. A message without a method is never answered, so two peers
// cannot loop on errors about errors. All such messages are reported to [Hooks].Stray.
//
// # Closing
//
// [Peer.Close] ends the connection at once; [Peer.Shutdown] first lets running handlers finish. A
// call that can no longer get a response fails with an error that matches [ErrClosed] and its
// cause. After [Peer.Wait] has returned, no goroutine of the peer is left, unless the stream's
// Close does not end a Read: use [Stdio] for a peer on standard input and output.
package rpc
