package streamable_test

import (
	"testing"

	"github.com/stdwire/stdwire/internal/conformance"
)

// A requirement is a MUST or SHOULD of the specification for clients, in few words, with the tests
// that cover it. Tests of other packages are qualified: client.TestCancel. Text after a dash says
// why there is no test, or what the tests leave open.
type requirement = conformance.Claim

// requirements are those of the pages about transports, by page. A requirement of several revisions
// is listed with the latest.
var requirements = map[string][]requirement{
	"2026-07-28 basic/transports": {
		{"messages are UTF-8", "TestMessagesMustBeUTF8"},
		{"the client sends requests and notifications, the server responses and notifications",
			"TestModernServerRequestsAreNotAnswered TestMessagesBeforeTheResponse"},
		{"custom transports keep the message format, patterns and request metadata",
			"TestPostsMustBeModern client.TestConnect"},
		{"SHOULD: and document how they work", "- the comment of client.Transport"},
		{"SHOULD: byte streams are framed as stdio is", "TestFaultsOverPipes"},
	},
	"2026-07-28 basic/transports/stdio": {
		{"no newline within a message", "TestMessagesMustBeUTF8 client.TestCallWire"},
		{"stderr output does not indicate an error", "client.TestSpawn child.TestChattyStderr"},
		{"nothing but messages on standard input",
			"TestMessagesMustBeUTF8 client.TestHandshakeWire"},
		{"no responses",
			"client.TestServerRequests - but to requests that a server must not send, lest it waits for ever"},
		{"notifications of a subscription are matched by its id",
			"client.TestAcknowledgedEarly client.TestSubscribeOnly"},
		{"an abandoned request is cancelled", "client.TestCancel client.TestTimeout"},
		{"shutdown: close stdin, wait, then signal",
			"client.TestCloseStubborn child.TestStopLadder"},
		{"a process that exits unexpectedly is restarted",
			"- by who has the client: it says that the process has ended, and with what"},
		{"server/discover comes first", "client.TestConnect client.TestHandshakeWire"},
		{"no single error code leads to the other era", "client.TestConnect TestEra"},
	},
	"2026-07-28 basic/transports/streamable-http": {
		{"legacy servers are served in their era", "TestLegacy TestHTTPSSE TestEra"},
		{"every message is a POST of its own to the endpoint",
			"TestPostsMustBeModern TestPostsMustBeLegacy"},
		{"messages are sent with POST", "TestPostsMustBeModern TestPostsMustBeLegacy"},
		{"Accept lists JSON and streams", "TestModernHeaders TestPostsMustBeModern"},
		{"each POST has the headers of its metadata", "TestPostsMustBeModern TestModernHeaders"},
		{"the body is one request or notification", "TestPostsMustBeModern"},
		{"no responses", "TestModernServerRequestsAreNotAnswered"},
		{"answers are JSON or streams", "TestResponses"},
		{"comments on a stream are ignored", "TestResponses TestMessagesBeforeTheResponse"},
		{"nothing is resumed", "TestModernIsNotResumed TestModernResponseTruncatedAnywhere"},
		{"a request is cancelled by closing its stream", "TestCancellation"},
		{"every POST has MCP-Protocol-Version", "TestPostsMustBeModern"},
		{"which has the revision in _meta", "TestPostsMustBeModern"},
		{"Mcp-Method and Mcp-Name are sent",
			"TestModernHeaders TestModernNames TestPostsMustBeModern"},
		{"an Mcp-Name that is not plain ASCII is in base64",
			"TestModernNames paramheader.TestHeaderValues"},
		{"x-mcp-header is supported", "TestModernParams"},
		{"and mirrored", "TestModernParams"},
		{"a tool with an invalid x-mcp-header is not used",
			"TestInvalidToolsAreOmitted paramheader.TestHeaderParams"},
		{"and omitted from the list", "TestInvalidToolsAreOmitted"},
		{"and logged with the reason", "TestInvalidToolsAreOmitted"},
		{"values are encoded", "TestModernParams paramheader.TestHeaderValues " +
			"paramheader.TestHeaderParamValue"},
		{"integers are in JavaScript's safe range",
			"TestModernParams paramheader.TestHeaderParamValue"},
		{"values that are not plain ASCII are in base64",
			"TestModernParams paramheader.TestHeaderValues"},
		{"the base64 markers are case-sensitive", "paramheader.TestHeaderValues"},
		{"values that look like markers are in base64 as well",
			"paramheader.TestHeaderValues TestModernNames"},
		{"a tools/call has Mcp-Method, Mcp-Name, and each Mcp-Param that has a value",
			"TestModernParams"},
		{"null has no header", "TestModernParams"},
		{"an absent argument has no header", "TestModernParams"},
		{"HeaderMismatch leads to tools/list and a retry", "TestMissingHeaders"},
		{"header names are case-insensitive", "TestHeaderNamesMustBeOfAnyCase TestModernHeaders"},
		{"the body of a 400 is read before the other era is tried",
			"TestEra TestEraSupported"},
		{"a modern error in it does not lead to the other era", "TestEra TestEraSupported"},
		{"HTTP+SSE: 400, 404 or 405 lead to a GET, and its endpoint to that transport",
			"TestHTTPSSE TestNotHTTPSSE TestHTTPSSEIsNotTried"},
	},
	"2025-11-25 basic/transports, and before": {
		{"SHOULD: stdio is supported", "client.TestSpawn"},
		{"every message is a POST of its own to the endpoint", "TestPostsMustBeLegacy"},
		{"Accept lists JSON and streams", "TestLegacyHeaders TestPostsMustBeLegacy"},
		{"the body is one request, notification or response", "TestPostsMustBeLegacy"},
		{"answers are JSON or streams", "TestResponses"},
		{"SHOULD: a closed stream is resumed", "TestResume"},
		{"retry is respected", "TestResume TestGetStream"},
		{"SHOULD: a cancellation is sent", "TestCancellation"},
		{"a GET accepts streams", "TestLegacyHeaders"},
		{"SHOULD: resume with GET and Last-Event-ID",
			"TestResume TestLegacyResponseTruncatedAnywhere TestGetStreamIsResumed"},
		{"the id of the session is handled securely", "TestSecretsAreNotInErrors TestRedirects"},
		{"and in all requests after initialize", "TestLegacyHeaders TestResumeInitialize"},
		{"404 leads to a new session, initialized without an id",
			"TestSessionIsReplaced TestSessionIsReplacedOnce TestSessionIsReplacedAfter400 TestGetStreamOfLostSession"},
		{"SHOULD: a session that is no longer needed is deleted", "TestSessionIsDeleted"},
		{"2025-06-18: MCP-Protocol-Version is in all requests after initialize",
			"TestLegacyHeaders"},
		{"and is the negotiated one", "TestNegotiatedRevisionMustBeSent"},
		{"2025-03-26: batches are understood", "TestBatchesMustBeUnderstood"},
		{"2025-03-26: HTTP+SSE for any 4xx; since 2025-11-25 400, 404 and 405",
			"TestHTTPSSEIsNotTried"},
	},
	"2024-11-05 basic/transports": {
		{"all messages are posted to the URL of the endpoint event", "TestHTTPSSE"},
		{"the server's messages are events of the type message",
			"TestHTTPSSE TestHTTPSSEServerRequests"},
	},
}

// The tests named in requirements exist, and each test with Must in its name is in a row.
func TestRequirements(t *testing.T) {
	conformance.CheckMusts(t, requirements,
		map[string]string{"": ".", "client": "..", "mcp": "../../rpc/mcp",
			"child": "../../internal/child", "paramheader": "../../internal/paramheader"})
}
