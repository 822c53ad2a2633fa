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
// era nor a legacy revision, the client sends server/discover and looks at what comes back
// (2026-07-28, stdio, "Backward Compatibility"):
//
//	a result, or an error that only modern servers know   the server is modern
//	any other answer                                      initialize is sent: it is legacy
//	nothing for 5 s, or no answer 1 s after any output    initialize is sent as well, and the first
//	                                                      good answer to either decides
//	the process exits                                     it is started once more, for initialize
//	                                                      only: many servers exit if the first
//	                                                      request is another one
//
// Options.StartTimeout limits all of it, by default to 60 s, because npx may have to download the
// server. A server that the client did not start is not started again. The client refuses a server
// that chooses a revision which it does not support.
//
// # Calls
//
// A call blocks until the response arrives, the call times out or its context ends. In the last two
// cases the client tells the server that the request is cancelled, and drops a late response. With
// [OnProgress] the client requests progress, which extends the deadline, up to a limit. Progress is
// delivered on the goroutine that made the call, so a slow callback delays only its own call.
//
// [Client.Tools], [Client.Resources], [Client.ResourceTemplates] and [Client.Prompts] are sequences
// that fetch pages as needed. [Client.CallTool] returns a result as a value, and
// [Client.CallToolRaw] as the text that the server wrote; [CallAs] decodes its data into a type of
// the application. [Client.Call] sends a request of a method that has no function here. The results
// of a tool that has been listed with an outputSchema must match it: Options.Output says whether
// one that does not is logged or fails the call.
//
// # Input requests
//
// During a call, a server may ask for input from the user (Options.OnElicit), a completion of a
// model (Options.OnSample), or the roots (Options.Roots or OnRoots). The callbacks are the same for
// both eras, although a legacy server sends a request during the call, whereas a modern one ends
// the call with its questions, and the client repeats the call with the answers, at most 10 times;
// then the call fails with a [ErrRounds]. The client declares a capability if its callback is
// set, and refuses other requests.
//
// The context of a callback ends with the connection; in the legacy era also when the server
// cancels the request or ends the session, in the modern era also when the call times out or its
// context ends. A modern call returns after its callbacks have returned, and its deadline does not
// pause for them. At most 16 run at a time. A callback may use the client.
//
// If a callback fails or panics, or its result does not match the request, a modern call fails with
// a [*QuestionError]. A legacy server receives an [*rpc.Error] that the callback returns, and for
// any other error an internal error, whose cause the client logs. Declining is a result,
// [mcp.ElicitDecline], and not an error. With [ReturnInputRequests], or if a callback for one of
// the requests is not set, the call fails with an [*InputRequiredError], which has the requests.
//
// A server of 2025-11-25 may reject a request until the user has completed steps on web pages (code
// -32042). If Options.ElicitModes contains [mcp.ElicitURL], the client calls OnElicit for each page
// and repeats the request when the server reports that all are complete. Servers need not report
// it, so the client also repeats the request after 15 s, after another 30 s, and so on, until the
// call times out. If the user declines, the call returns the error of the server.
//
// # Tasks
//
// A server may run a call as a task, which continues after the response and has the result later. A
// modern server decides so by itself for clients that declare the extension of tasks, as this one
// does; a server of 2025-11-25 is asked for it. [Client.CallTool] waits for the task and returns
// its result: it polls at the interval that the server suggests, within 10 times a second and once
// a minute, repeats a poll that fails up to 3 times in a row, and answers each input request once,
// up to 256 of them. A change of the task's state extends the deadline, as progress does. When the
// call times out or its context ends, the client asks the server to cancel the task. A tool that
// [Client.Tools] has listed as requiring a task is called as one.
//
// [Client.StartTool] returns a [Task] to poll, wait for or cancel. Store its ID if the task must
// outlive the program: [Client.Task] accepts it on another connection to the same server. Neither
// Close nor the end of a wait cancels such a task. [Client.Tasks] lists the tasks of a server of
// 2025-11-25.
//
// # Changes
//
// After a list has changed, the client fetches it for Options.OnToolsChanged, OnResourcesChanged or
// OnPromptsChanged; Options.OnListChanged reports only the change. Options.OnResourceUpdated
// reports changes of the resources passed to [Client.Subscribe]. A modern server sends changes on a
// stream, subscriptions/listen, and only if one of these is set. If the stream ends, the client
// opens it again, first after 1 s and then with growing delays, and reports a change of everything
// that it may have missed.
//
// # Caching
//
// A modern server states how long, and for whom, a list, a resource or the result of
// server/discover may be reused (2026-07-28, Caching). Until then a call with the same method and
// params returns it from [Options].Cache and sends nothing. The _meta of a request counts as well,
// except for its progress token, log level and trace context. A public result is reused by all
// clients that share the cache, any other one by those of them that have the same
// Options.Principal.
//
// A result is dropped when the server reports a change of the list, of the resource, or of one
// above or below it; when it may have done so unnoticed; when Subscribe names the resource; when
// the server answers with an error; and when the cache is full. What was requested before a change
// and received after it is not stored, nor are errors, results that depend on input, and results of
// legacy servers. Each page of a list is stored by itself. A sequence yields a cached page when the
// next page has arrived: if the server rejects the cursor of the cached page, the client fetches
// that page again. [Fresh] bypasses the cache.
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
