// Package rpc is a JSON-RPC 2.0 peer: one end of a connection on which both ends may call.
//
//	client := rpc.Options{}.New(stream)
//	var sum int
//	err := client.Call(ctx, "add", []int{1, 2}, &sum)
//
// A [Router] serves methods with typed handlers:
//
//	var router rpc.Router
//	rpc.Handle(&router, "add", func(ctx context.Context, terms []int) (int, error) { ... })
//	server := rpc.Options{Handler: router.Serve}.New(stream)
//
// Requests run concurrently. For handlers that are not safe for that, as in a program that was
// written for a library without concurrency, set [Options].Ordered to a function that returns true.
//
// A stream is standard input and output ([Stdio]), a connection of a listener (package socket), a
// reader and a writer ([Stream]), or anything else that reads, writes and closes. [Options.Pipe]
// connects two peers in memory. Package rpchttp serves and calls methods with an HTTP POST for each
// message.
//
// # The path of a message
//
//	bytes ─► framing ─► reader ─┬─► a response: to the Call with its id
//	                            ├─► a cancellation: to the context of the request
//	                            └─► a request or notification: to the end of the lane
//
//	lane, in order of arrival ──┬─► a notification, or a request of Options.Ordered: its
//	                            │   handler runs here, to its end
//	                            └─► a request: its handler runs on a goroutine of its own
//
//	responses, refusals, calls ───► outbox ─► one Write for all small frames that wait
//
// The reader scans each message once: it checks every byte, and finds the id, the method and the
// params. It never writes and never waits for the handler of a request, so two peers that call each
// other cannot deadlock, however large their messages are (see Bounds for what it does wait for).
// Params are decoded later, by the handler, which knows their type. A result is encoded once, into
// the outbox.
//
// Because the lane keeps the order of arrival, a request sees the effect of every notification that
// was sent before it. And because requests leave the lane as soon as they have started, a slow
// request delays nothing. A slow notification does: everything that was sent after it waits. Its
// handler should start a goroutine for slow work. It must start one to call the other side, if the
// other side may send a request before it responds, because that request would wait in the lane for
// the handler, and the handler for the response.
//
// # Request ids
//
// An id identifies a request from its arrival until its response has been sent, or until its
// handler has returned if it was cancelled and gets no response. A second request with the id of
// one that is still being served is refused, and the first continues. The refusal has the code
// [CodeInvalidRequest] and a null id: with the id of the request, it would be taken for the
// response to the first.
//
// A client whose server may print anything to its standard output, as libraries do, sets
// [Options].IgnoreMalformed. The peer then sends no error with a null id, since the server could
// not know which of its lines is meant. It drops such messages and reports them to [Hooks].Stray.
//
// # Bounds
//
// [Limits] bounds everything that the other side can make grow. At a bound, a request is refused
// with [ErrBusy]. A notification can be neither refused nor dropped, so the reader waits for room;
// if no notification finishes within 10 seconds, the connection ends with [ErrFlooded]. If refusals
// pile up because the other side does not read, it ends with [ErrSlowPeer]. [Peer.Call] and
// [Peer.Notify] wait for room until their context ends.
//
// A message of more than 256 KiB is decoded, and its result encoded, in the order of arrival and on
// as many processors at a time as there are. Handlers have no such order: one that waits holds
// nobody up. The reader stops while such work is due, and while [Limits].MaxUnsent bytes of
// responses wait for the other side to read, so that what is useful is in memory and the rest is
// with its sender. Neither wait lasts: if the other side reads nothing for 200 ms, perhaps because
// it writes first, or if a method that decodes or encodes a value blocks for a second, the reader
// goes on.
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
// The total does not include the memory of handlers: up to MaxRunning, and those that have called
// [Request.Detach], whose number the application must bound. Nor does it include this side's calls,
// up to MaxPending of a few hundred bytes each. With [Options].Batch, each batch that is not
// finished may hold another MaxAppend bytes of responses. Lower MaxFrame, MaxQueuedBytes and
// MaxResponses to serve many peers that are not trusted.
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
