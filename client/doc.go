// Package client is an MCP client: it starts a server or connects to one, negotiates the revision,
// calls its tools, reads its resources, gets its prompts, answers its input requests and follows
// its changes.
//
//	c, err := client.Spawn(ctx, "weather-server")
//	if err != nil {
//		// server "weather-server": exited with status 3 before answering: "missing API key"
//		return err
//	}
//	defer c.Close()
//	for tool, err := range c.Tools(ctx) {
//		…
//	}
//	result, err := c.CallTool(ctx, "weather_get", Query{City: "Oslo"})
//
// It supports servers of every revision from 2024-11-05 to 2026-07-28, and hides their differences.
//
// # Eras
//
// The revisions of MCP form two eras (see [mcp]). A modern server answers the request
// server/discover; a legacy one expects the handshake initialize first. If [Options] set neither an
// era nor a legacy revision, the client detects the era (2026-07-28, stdio, "Backward
// Compatibility"):
//
//	server/discover ─┬─► a result, or an error that only modern servers know ────────► modern
//	                 ├─► any other answer ──────────────► initialize ────────────────► legacy
//	                 ├─► 5 s of silence, or 1 s after ──► initialize as well, and the
//	                 │   something that is no answer      first good answer counts ──► either
//	                 └─► the process exits ─────────────► started once more,
//	                                                      initialize only ───────────► legacy
//
// Options.StartTimeout limits all of it, by default to 60 s, because npx may have to download the
// server. The client starts the process a second time because many servers, such as those built on
// the Rust SDK, exit if the first request is not initialize. If the second process exits too, the
// error describes that one. A server that the client did not start is not started again. The client
// refuses a server that chooses a revision which the client does not support.
//
// # Calls
//
// The path of CallTool from the arguments to the wire:
//
//	callTool        check the name, prepare the check of the result
//	do              apply the options, set the deadline, look the result up in the cache
//	callWithInput   answer input requests, follow a task, repeat the request
//	send            send the request, wait for the response and decode it; send once more after a
//	                lost session, a 401 that a new session may mend, or a header mismatch
//
// A call blocks until the response arrives, the call times out or its context ends. In the last two
// cases the client sends notifications/cancelled (to a modern server over HTTP, it closes the
// response stream instead) and drops a late response. With [OnProgress] the client requests
// progress. Progress extends the deadline, up to a limit, and is delivered on the goroutine that
// made the call, so a slow callback delays only its own call.
//
// [Client.Tools], [Client.Resources], [Client.ResourceTemplates] and [Client.Prompts] are sequences
// that fetch pages as needed. [Client.Call] sends a request of any method and returns the result
// as the server wrote it.
//
// # Input requests
//
// During a call, a server may request input from the user (Options.OnElicit), a completion of a
// model (Options.OnSample), or the roots (Options.Roots or OnRoots). The same callbacks serve both
// eras:
//
//	legacy   the server sends a request             ─► callback ─► response, during the call
//	modern   the call's result is "input_required"  ─► callbacks, at most 16 at a time
//	                                                ─► the call again, with their results
//
// The client declares a capability if its callback is set, and refuses other requests. The context
// of a callback ends when the client is closed or the connection ends; in the legacy era also when
// the server cancels the request or ends the session, in the modern era also when the call times
// out or its context ends. The deadline of a modern call does not pause for callbacks, and the call
// returns after its callbacks have returned. A callback may use the client.
//
// If a callback fails or panics, or its result does not match the request, a modern call fails with
// a [*QuestionError]. A legacy server receives an [*rpc.Error] that the callback returns; for any
// other error it receives an internal error, and the client logs the cause. Declining is a result,
// [mcp.ElicitDecline], and not an error.
//
// The client repeats a call at most 10 times for input; then the call fails with a [*RoundsError].
// With [ReturnInputRequests], or if a callback for one of the requests is not set, the call fails
// with an [*InputRequiredError], which contains the requests.
//
// A server of 2025-11-25 may reject a request until the user has completed steps on web pages (code
// -32042). If Options.ElicitModes contains [mcp.ElicitURL], the client calls OnElicit for each page
// and repeats the request when the server reports that all are complete. Servers need not report
// it, so the client also repeats the request after 15 s, after another 30 s, and so on, until the
// call times out. If the user declines, the call returns the error of the server.
//
// # Tasks
//
// A server may run a call as a task, which continues after the response and has the result later.
// One set of methods serves both kinds of tasks:
//
//	modern      the extension io.modelcontextprotocol/tasks, which the client declares; the
//	            server decides for each call of a tool
//	2025-11-25  the client asks for it, where the server and the tool say that they can
//
// [Client.CallTool] waits for the task and returns its result. It polls at the interval that the
// server suggests, within 10 times a second and once a minute, and answers each input request once
// with the callbacks. A change of the task's state extends the deadline, as progress does. When the
// call times out or ctx ends, the client asks the server to cancel the task. A poll that fails is
// repeated, at most 3 times in a row with growing delays. After 256 input requests the call fails
// with a [*RoundsError]. On a server of 2025-11-25, a tool that [Client.Tools] has listed as
// requiring a task is called as one.
//
// [Client.StartTool] returns a [Task] to poll, wait for or cancel. Store its ID if the task must
// outlive the program: [Client.Task] accepts it on another connection to the same server. Neither
// Close nor the end of a wait cancels such a task. [Client.Tasks] lists the tasks of a server of
// 2025-11-25.
//
// # Results
//
// The results of a tool must match its outputSchema, if it declares one. Options.Output says
// whether a result that does not match is logged or fails the call. Only results of listed tools
// are checked.
//
// # Changes
//
// After a list has changed, the client fetches it for Options.OnToolsChanged, OnResourcesChanged or
// OnPromptsChanged; Options.OnListChanged reports only the change. Options.OnResourceUpdated
// reports changes of the resources passed to [Client.Subscribe]. A modern server sends changes on a
// stream, subscriptions/listen. If the stream ends, the client opens it again, first after 1 s and
// then with growing delays, and reports a change of everything that it may have missed.
//
// # Caching
//
// A modern server states for each list and resource, and for server/discover, how long and for whom
// the result may be reused (2026-07-28, Caching). Meanwhile every call takes it from
// [Options].Cache and sends nothing:
//
//	key         method and params, with _meta except progress token, log level and trace context
//	how long    ttlMs after it was received; with OnProgress, after the call was made
//	for whom    "public": all clients that share the cache; otherwise those of them with the same
//	            Options.Principal
//	until       the server reports a change of the list, of the resource, or of one above or below
//	            it, or may have done so unnoticed; Subscribe names the resource; the server answers
//	            with an error; or the cache is full
//
// The cache does not store a result that was requested before a change and received after it, nor
// an error, nor a result that depends on input responses. It stores each page of a list separately.
// A sequence yields a cached page when the next page has arrived: if the server rejects the cursor
// of the cached page, the client fetches that page again. [Fresh] bypasses the cache.
//
// A modern server reports changes only if the client subscribes to them, by a callback in Options
// or [Client.Subscribe]. Results of a legacy server are not stored.
//
// # Errors
//
// [Spawn] and [Connect] return a [*StartError], all calls a [*CallError]. Both name the server, and
// wrap the error that is the cause. If a tool fails, the call returns a result with IsError set.
//
// # Faulty servers
//
// The client skips lines on stdout that are not messages and responses without a request, and
// counts them for [Client.Stats]. It replaces unpaired surrogates in strings by U+FFFD. It answers
// every request of the server: ping, input requests that have a callback, and any other with
// "method not found". A message over the limits is an error before it is sent, and ends the
// connection when it is received. Lists have a maximum length. When the process of the server
// exits, calls fail at once with its status and last output, even if a child process still holds
// its pipes. When the client closes, the process and its children end, if necessary by SIGKILL.
//
// All queues are bounded: progress and changes coalesce, the oldest log messages are dropped, and
// the goroutine that reads from the server does not wait for callbacks, except for
// Options.OnRawLog.
package client
