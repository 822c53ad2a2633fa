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
		{"requests and notifications go one way, responses and notifications the other",
			"TestModernServerRequestsAreNotAnswered TestMessagesBeforeTheResponse"},
		{"transports of another kind keep the format, the patterns and the metadata of each request",
			"TestPostsMustBeModern client.TestConnect"},
		{"and say how they work; which is a SHOULD", "- the comment of client.Transport"},
		{"streams of bytes are framed as stdio is; which is a SHOULD", "TestFaultsOverPipes"},
	},
	"2026-07-28 basic/transports/stdio": {
		{"no newline within a message", "TestMessagesMustBeUTF8 client.TestCallWire"},
		{"stderr does not mean that something is wrong", "client.TestSpawn child.TestChattyStderr"},
		{"nothing but messages on standard input",
			"TestMessagesMustBeUTF8 client.TestHandshakeWire"},
		{"no responses",
			"client.TestServerRequests - but to requests that a server must not send, lest it waits for ever"},
		{"notifications of a subscription are told by its id",
			"client.TestAcknowledgedEarly client.TestSubscribeOnly"},
		{"a request that is given up is cancelled", "client.TestCancel client.TestTimeout"},
		{"a server is asked to end, waited for, and ended",
			"client.TestCloseStubborn child.TestStopLadder"},
		{"a process that ends unexpectedly is started again",
			"- by who has the client: it says that the process has ended, and with what"},
		{"server/discover comes first", "client.TestConnect client.TestHandshakeWire"},
		{"no one code alone leads to the other era", "client.TestClassify TestEra"},
	},
	"2026-07-28 basic/transports/streamable-http": {
		{"old servers are spoken to as they want it", "TestLegacy TestHTTPSSE TestEra"},
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
		{"to cancel is to close the stream", "TestCancellation"},
		{"every POST has MCP-Protocol-Version", "TestPostsMustBeModern"},
		{"which says what _meta does", "TestPostsMustBeModern"},
		{"Mcp-Method and Mcp-Name are there",
			"TestModernHeaders TestModernNames TestPostsMustBeModern"},
		{"an Mcp-Name that is not plain is in base64", "TestModernNames mcp.TestHeaderValues"},
		{"x-mcp-header is supported", "TestModernParams"},
		{"and mirrored", "TestModernParams"},
		{"a tool whose x-mcp-header breaks the rules is not used",
			"TestInvalidToolsAreOmitted mcp.TestHeaderParams"},
		{"and left out of the list", "TestInvalidToolsAreOmitted"},
		{"and the log is told the tool and why", "TestInvalidToolsAreOmitted"},
		{"values are encoded", "TestModernParams mcp.TestHeaderValues mcp.TestHeaderParamValue"},
		{"integers are those that JavaScript can hold",
			"TestModernParams mcp.TestHeaderParamValue"},
		{"what is not plain is in base64", "TestModernParams mcp.TestHeaderValues"},
		{"the marks of base64 are as they are, in lower case", "mcp.TestHeaderValues"},
		{"what looks like them is in base64 as well", "mcp.TestHeaderValues TestModernNames"},
		{"a tools/call has Mcp-Method, Mcp-Name, and each Mcp-Param that has a value",
			"TestModernParams"},
		{"null has no header", "TestModernParams"},
		{"what is absent has no header", "TestModernParams"},
		{"HeaderMismatch leads to a look at the list and another try", "TestMissingHeaders"},
		{"header names in any case", "TestHeaderNamesMustBeOfAnyCase TestModernHeaders"},
		{"the body of a 400 is looked at before the other era is tried",
			"TestEra TestEraSupported"},
		{"a modern error in it does not lead to the other era", "TestEra TestEraSupported"},
		{"HTTP+SSE: 400, 404 or 405 lead to a GET, and its endpoint to that transport",
			"TestHTTPSSE TestNotHTTPSSE TestHTTPSSEIsNotTried"},
	},
	"2025-11-25 basic/transports, and before": {
		{"stdio is supported; which is a SHOULD", "client.TestSpawn"},
		{"every message is a POST of its own to the endpoint", "TestPostsMustBeLegacy"},
		{"Accept lists JSON and streams", "TestLegacyHeaders TestPostsMustBeLegacy"},
		{"the body is one request, notification or response", "TestPostsMustBeLegacy"},
		{"answers are JSON or streams", "TestResponses"},
		{"a stream that was closed is polled; which is a SHOULD", "TestResume"},
		{"retry is respected", "TestResume TestGetStream"},
		{"to cancel is to say so; which is a SHOULD", "TestCancellation"},
		{"a GET accepts streams", "TestLegacyHeaders"},
		{"to resume is a GET with Last-Event-ID; which is a SHOULD",
			"TestResume TestLegacyResponseTruncatedAnywhere TestGetStreamIsResumed"},
		{"the id of the session is handled securely", "TestSecretsAreNotInErrors TestRedirects"},
		{"and in all requests after initialize", "TestLegacyHeaders TestResumeInitialize"},
		{"404 leads to another session, begun without an id",
			"TestSessionIsReplaced TestSessionIsReplacedOnce TestSessionIsReplacedAfter400 TestGetStreamOfLostSession"},
		{"a session that is not needed is deleted; which is a SHOULD", "TestSessionIsDeleted"},
		{"2025-06-18: MCP-Protocol-Version is in all requests after initialize",
			"TestLegacyHeaders"},
		{"and the one that was agreed on", "TestNegotiatedRevisionMustBeSent"},
		{"2025-03-26: batches are understood", "TestBatchesMustBeUnderstood"},
		{"2025-03-26: HTTP+SSE for any 4xx; since 2025-11-25 400, 404 and 405",
			"TestHTTPSSEIsNotTried"},
	},
	"2024-11-05 basic/transports": {
		{"all messages go to the address that the stream begins with", "TestHTTPSSE"},
		{"and the server's come as events of the type message",
			"TestHTTPSSE TestHTTPSSEServerRequests"},
	},
}

// The tests named in requirements exist, and each test with Must in its name is in a row.
func TestRequirements(t *testing.T) {
	conformance.CheckMusts(t, requirements,
		map[string]string{"": ".", "client": "..", "mcp": "../../rpc/mcp",
			"child": "../../internal/child"})
}
