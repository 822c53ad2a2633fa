package streamable_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// A must is something that the specification says a server MUST do, or not do, in few words, and the tests that prove it. Those of other packages are called by the package:
// server.TestWire. What begins with a dash is why there is no test, or what the tests before it leave open.
type must struct{ what, proof string }

// musts are those of the pages that are about transports, patterns, utilities and what clients are asked, by page; those of authorization are not among them. Where a page
// says the same in several revisions, the row is in the list of the last.
var musts = map[string][]must{
	"2026-07-28 basic/transports": {
		{"messages are UTF-8", "TestMessagesMustBeUTF8 server.TestMessagesMustBeLinesOfUTF8"},
		{"requests and notifications go one way, responses and notifications the other", "TestModernStream TestModernServerMustNotSendRequests TestM16StrayAnswersAreNotAnswered"},
		{"transports of another kind keep the format and patterns", "server.TestM2SubscriptionOfItsOwnConnectionHears server.TestQuestionsByHandInTheModernEra"},
	},
	"2026-07-28 basic/transports/stdio": {
		{"no newline within a message", "server.TestMessagesMustBeLinesOfUTF8"},
		{"nothing but messages on standard output", "server.TestStdoutMustHaveMessagesOnly"},
		{"no requests of the server", "server.TestElicit server.TestServerMustCancelItsSubscriptionsOnly"},
		{"nothing more for a request that was cancelled", "server.TestCancellation server.TestServerMustCancelItsSubscriptionsOnly"},
	},
	"2026-07-28 basic/transports/streamable-http": {
		{"one endpoint that takes POST", "TestTwoErasOnOneEndpoint TestG15SessionsAndModernClientsGoTogether"},
		{"Origin is validated on all connections", "TestOriginMustBeValidated"},
		{"an invalid Origin is answered with 403", "TestOriginMustBeValidated TestBrowsers"},
		{"a notification is answered with 202 and no body", "TestModernNotificationMustBe202WithoutBody"},
		{"a notification that is not accepted is answered with an error status", "TestModernNotificationMustFitItsHeaders"},
		{"a request is answered with JSON or a stream", "TestModernStatuses TestModernAccept"},
		{"notifications on its stream belong to the request", "TestSubscriptionMustHearWhatItWantsOnly TestModernStream"},
		{"no requests of the server on any stream", "TestModernServerMustNotSendRequests"},
		{"closing the stream cancels the request", "TestModernDisconnectMustCancel TestG17HandlersEndWithTheirClient"},
		{"nothing more for a request that was cancelled", "TestModernDisconnectMustCancel TestSayingBehindTheAnswer"},
		{"MCP-Protocol-Version differs from _meta: 400, HeaderMismatch", "TestModernStatuses TestModernNotificationMustFitItsHeaders"},
		{"a version that is not spoken: 400, and the versions that are", "TestModernStatuses TestModernNotificationMustFitItsHeaders"},
		{"a method that is not there: 404, -32601", "TestModernUnknownMethodMustBe404"},
		{"no MCP-Protocol-Version: refused, where old clients are not served", "TestModernStatuses TestLegacyStatuses - they are served, and need a session"},
		{"x-mcp-header is not empty", "mcp.TestHeaderParams server.TestHeaderAnnotationsMustBeValid"},
		{"x-mcp-header is a token", "mcp.TestHeaderParams"},
		{"x-mcp-header has no control characters", "mcp.TestHeaderParams"},
		{"x-mcp-header is unique, whatever the case", "mcp.TestHeaderParams"},
		{"x-mcp-header is on strings, booleans and integers only, that JavaScript can hold", "mcp.TestHeaderParams mcp.TestHeaderParamValue"},
		{"x-mcp-header is where properties alone lead", "mcp.TestHeaderParams"},
		{"the marks of base64 are as they are, in lower case", "mcp.TestHeaderValues TestModernHeaderParamsMustMatch"},
		{"Mcp-Name and Mcp-Param are decoded before they are compared", "TestModernStatuses TestModernHeaderParamsMustMatch"},
		{"a known Mcp-Param with invalid characters is refused", "TestHeaderParamsMustBeASCII TestModernHeaderParamsMustMatch"},
		{"an unknown Mcp-Param is ignored", "TestModernHeaderParamsMustMatch TestHeaderParamsMustBeASCII"},
		{"a value of the body is what the header says, or 400, -32020", "TestModernHeaderParamsMustMatch TestHeadersMustBeComparedWithWhatIsDone"},
		{"no header is wanted for null", "TestModernHeaderParamsMustMatch"},
		{"no header is wanted for what is absent", "TestModernHeaderParamsMustMatch"},
		{"a header that is missing for a value is refused", "TestModernHeaderParamsMustMatch"},
		{"header names in any case", "TestHeaderNamesMustBeOfAnyCase"},
		{"headers that differ from the body are refused", "TestModernStatuses TestHeadersMustBeComparedWithWhatIsDone"},
		{"the refusal is 400 with -32020", "TestModernStatuses TestModernMessagesFitTheSchema"},
	},
	"2026-07-28 basic/patterns": {
		{"a server makes no requests", "TestModernServerMustNotSendRequests TestSayingBehindTheAnswer"},
	},
	"2026-07-28 basic/patterns/cancellation": {
		{"a server that ends a subscription cancels it", "TestServerMustCancelSubscriptionsThatItEnds TestListen server.TestServeEnds"},
		{"it cancels nothing else", "server.TestServerMustCancelItsSubscriptionsOnly"},
		{"a client that disconnects cancels its request", "TestModernDisconnectMustCancel"},
		{"what is cancelled was issued by the client, and goes on", "server.TestServerMustCancelItsSubscriptionsOnly"},
		{"races do no harm", "rpc.TestCancelInbound TestLegacyCancellation server.TestServerMustCancelItsSubscriptionsOnly"},
	},
	"2026-07-28 basic/patterns/mrtr": {
		{"the client is asked by the result of its request", "server.TestElicit server.TestSeveralQuestionsAtOnce"},
		{"only tools/call, prompts/get and resources/read have such results", "server.TestAskingOutsideOfARequest server.TestCompletionFailures"},
		{"keys are unique within the request", "server.TestSeveralQuestionsAtOnce server.TestKeysThatCollide"},
		{"what is asked is elicitation, sampling or roots", "server.TestSeveralQuestionsAtOnce server.TestQuestionsByHandMustBeOnesThatTheClientAnswers"},
		{"requestState is taken for an attacker's", "server.TestRequestStateIsBound server.TestRequestStateIsBounded"},
		{"its integrity is protected", "server.TestRequestStateIsBound TestRequestStateMustBeOfItsPrincipal"},
		{"what fails verification is refused", "server.TestRequestStateIsBound TestRequestStateMustBeOfItsPrincipal"},
		{"what may be used once is used once, by the server's own means", "server.TestOnce - a state is good until it expires: what may happen once among several states is the handler's"},
		{"inputRequests or requestState is there", "server.TestSeveralRounds server.TestQuestionsByHandInTheModernEra"},
		{"nothing is asked that the client has not declared", "server.TestMissingCapabilities server.TestQuestionsByHandMustBeOnesThatTheClientAnswers"},
		{"that the client comes back is not taken for granted", "server.TestSeveralRounds server.TestHandlerNeedNotAsk"},
		{"request state is validated as said above", "server.TestRequestStateIsBound"},
	},
	"2026-07-28 basic/patterns/progress": {
		{"progress tokens are strings or integers", "server.TestWire"},
		{"progress grows", "server.TestProgressAndLogging"},
		{"progress is of a request that gave the token", "server.TestProgressAndLogging TestModernStream"},
		{"progress is of what goes on", "TestSayingBehindTheAnswer"},
		{"progress stops with the end", "TestSayingBehindTheAnswer server.TestProgressAndLogOfHandlers"},
	},
	"2026-07-28 basic/patterns/subscriptions": {
		{"nothing that was not asked for", "TestSubscriptionMustHearWhatItWantsOnly server.TestListenIsAcknowledgedForWhatThereIs"},
		{"the acknowledgment is the first message", "TestSubscriptionMustHearWhatItWantsOnly server.TestNewsBeforeTheAcknowledgmentIsKept"},
		{"nothing is sent before it", "server.TestNewsBeforeTheAcknowledgmentIsKept"},
	},
	"2026-07-28 basic": {
		{"base protocol, versioning and patterns", "server.TestWire TestTwoErasOnOneEndpoint"},
		{"messages are JSON-RPC 2.0", "rpc.TestMessages rpc.TestParseMessage TestG1MalformedBodiesEndNothing"},
		{"requests have an id that is a string or an integer", "rpc.TestRequestsOnTheWire TestServerCallsTheClient"},
		{"an id is not null", "TestModernStatuses server.TestWire"},
		{"no two open requests of a sender have one id", "TestServerCallsTheClient rpc.TestManyCallers"},
		{"a result has the id of its request", "TestG3M16IDsAreEchoed"},
		{"a response has a result", "rpc.TestAnswers"},
		{"a result has a resultType", "server.TestWire TestModernMessagesFitTheSchema"},
		{"result types are those of the core and of what both know", "server.TestTasksNeedTheExtension"},
		{"an error has the id of its request, where that could be read", "TestModernStatuses TestG2M5PanicsAreAnswered"},
		{"an error has a code and a message", "rpc.TestAnswers server.TestWire"},
		{"codes are integers", "rpc.TestAnswers"},
		{"no new codes from -32000 to -32019", "TestErrorCodesMustBeDefined server.TestModernClientsMustGetDefinedCodes"},
		{"no codes from -32020 to -32099 but those that are defined, for what they are", "TestErrorCodesMustBeDefined server.TestModernClientsMustGetDefinedCodes"},
		{"no -32002 and no -32042", "server.TestResourceNotFound TestErrorCodesMustBeDefined server.TestModernClientsMustGetDefinedCodes"},
		{"a notification is not answered", "TestModernNotificationMustBe202WithoutBody rpc.TestAnswers"},
		{"a notification has no id", "rpc.TestRequestsOnTheWire server.TestSubscriptions"},
		{"requests before count for nothing", "server.TestPriorRequestsMustNotCount TestConnectionMustNotStandForItsClient"},
		{"what lasts has a name that each request says", "server.TestTask server.TestRequestStateIsBound"},
		{"JSON Schema 2020-12", "schema.TestSuite schema.TestDialects"},
		{"2020-12 is what a schema without $schema is", "schema.TestDialects"},
		{"schemas are validated by their dialect", "schema.TestMetaschemas schema.TestDialects"},
		{"a dialect that is not known is an error", "schema.TestDialects schema.TestCompileErrors"},
		{"schemas are valid", "schema.TestCompileErrors server.TestToolsThatAreNone"},
		{"no $ref is fetched from the network by itself", "schema.TestCompileErrors schema.TestLoader"},
		{"keys that MCP keeps to itself mean what it says", "mcp.TestMetaKeys server.TestWire"},
		{"prefixes of _meta keys are labels, dots and a slash", "mcp.TestMetaKeys"},
		{"labels of prefixes begin with a letter", "mcp.TestMetaKeys"},
		{"names of _meta keys begin and end with a letter or digit", "mcp.TestMetaKeys"},
		{"_meta without what is required: -32602", "TestModernStatuses server.TestWire"},
		{"and over HTTP 400", "TestModernStatuses"},
		{"capabilities that were not declared are not relied on", "server.TestMissingCapabilities"},
		{"and what needs them fails with -32021, which lists them", "server.TestMissingCapabilities TestModernMessagesFitTheSchema"},
		{"and over HTTP with 400", "TestModernStatuses TestConnectionMustNotStandForItsClient"},
		{"notifications of a subscription have its id", "TestListen TestSubscriptionMustHearWhatItWantsOnly"},
		{"traces are as W3C has them", "server.TestTraceMustBeOne - tracestate and baggage pass as any text"},
	},
	"2026-07-28 basic/versioning, server/discover": {
		{"a version that is not spoken is an error that lists those that are", "server.TestWire TestModernStatuses"},
		{"server/discover is there", "server.TestWire TestModernMessagesFitTheSchema"},
		{"extensions have a name with a prefix", "server.TestExtensionsMustHavePrefixes"},
		{"without the other's support: the core protocol, or an error", "server.TestTasksNeedTheExtension"},
	},
	"2026-07-28 server/utilities/caching": {
		{"what can be kept has hints", "server.TestCacheHintsMustBeThereAndNotNegative server.TestCacheHintsAreTheHandlers"},
		{"ttlMs is not negative", "server.TestCacheHintsMustBeThereAndNotNegative"},
		{"all pages of a list have one scope", "server.TestCacheScopeMustBeTheSameOnAllPages"},
		{"what is public may be shared", "server.TestPublicLists server.TestVisible"},
		{"access is controlled", "server.TestVisible server.TestVisibleOperations"},
		{"not by the scope alone", "server.TestVisible"},
	},
	"2026-07-28 server/utilities/completion, and before": {
		{"the capability is declared", "server.TestCapabilitiesAreWhatThereIs"},
		{"inputs are validated", "server.TestCompletion"},
		{"rates are limited", "TestRequestsAreBounded - how many at a time; how many in a time is for middleware"},
		{"access to suggestions is controlled", "server.TestVisible"},
		{"nothing is disclosed by them", "server.TestVisible server.TestCompletionFailures"},
	},
	"2026-07-28 server/utilities/logging, and before": {
		{"the capability is declared", "server.TestCapabilitiesAreWhatThereIs"},
		{"nothing for a request without a level", "server.TestLogMustGoToItsRequestOnly server.TestProgressAndLogging"},
		{"nothing on subscriptions or streams of other requests", "server.TestLogMustGoToItsRequestOnly TestSubscriptionMustHearWhatItWantsOnly"},
		{"no secrets", "server.TestLogMustNotHaveSecrets - what operations log for clients is theirs"},
	},
	"server/utilities/pagination": {
		{"none for servers, which clients must be able to trust with any cursor", "server.TestPagesOfEveryKind server.TestForgedCursors"},
	},
	"2026-07-28 client/elicitation, and before": {
		{"no form for secrets", "- the handler's"},
		{"a web page for secrets", "server.TestElicitURL - that it is used, the handler's"},
		{"no mode that the client does not have", "server.TestMissingCapabilities"},
		{"a message is there", "server.TestElicit server.TestElicitURL"},
		{"a form has the mode form or none, and a schema", "server.TestElicit server.TestFormsThatAreNone"},
		{"a web page has the mode url, and an address", "server.TestElicitURL"},
		{"the address is a valid URL", "server.TestElicitationURLMustBeValid"},
		{"2025-11-25: elicitationId is there", "server.TestElicitURL"},
		{"2025-11-25: notifications/elicitation/complete goes to who was asked", "- it is not sent"},
		{"2025-11-25: and has the elicitationId", "- it is not sent"},
		{"2025-11-25: -32042 is for what needs a web page first", "server.TestElicitURL - it is not sent: the client is asked by a request"},
		{"2025-11-25: -32042 lists elicitations", "- it is not sent"},
		{"2025-11-25: which are all of mode url, with an id", "- it is not sent"},
		{"state belongs to a user", "TestRequestStateMustBeOfItsPrincipal"},
		{"state does not belong to the id of a session alone", "TestSessionHijacking TestCarriedSessionMustBeOfItsPrincipal"},
		{"state is protected", "server.TestRequestStateIsBound"},
		{"users are known by their credentials", "TestPrincipal server.TestPrincipal"},
		{"a web page does not authorize for the server itself", "- the handler's"},
		{"third parties' credentials do not pass through the client", "- the handler's"},
		{"the client's credentials are not used elsewhere", "- the handler's; nothing here passes headers on"},
		{"the user authorizes the server directly", "- the handler's"},
		{"such credentials are not sent to the client", "- the handler's"},
		{"declining, cancelling and failing are handled", "server.TestElicit server.TestLegacyClientAnswersWithAnError server.TestAnswersThatAreNone"},
		{"elicitations are of a client and its user", "TestRequestStateMustBeOfItsPrincipal TestServerCallsTheClient"},
		{"the address has nothing secret in it", "- the handler's"},
		{"the address is not authenticated beforehand", "- the handler's"},
		{"the client does not say who the user is", "TestPrincipal TestM10SessionsAreMadeByInitialize"},
		{"who opens the page is who was asked", "- the handler's"},
		{"also where the address was changed", "- the handler's"},
	},
	"2026-07-28 client/sampling, and before": {
		{"no tools for who has not declared them", "server.TestMissingCapabilities"},
		{"tool results stand alone", "server.TestSamplingToolResultsMustMatch"},
		{"each use of a tool has its result in the next message", "server.TestSamplingToolResultsMustMatch"},
		{"messages have a role and content", "server.TestSamplingToolResultsMustMatch"},
		{"sensitive data is handled as such", "server.TestAskingIsNotLogged - what is asked is the handler's"},
	},
	"2026-07-28 client/roots, and before": {
		{"none for servers but that clients declare roots", "server.TestMissingCapabilities"},
	},
	"2025-11-25 basic/transports, and before": {
		{"one endpoint that takes POST and GET", "TestLegacyStatuses TestMessagesMustBeOnOneStreamOnly"},
		{"Origin is validated on all connections, with 403", "TestOriginMustBeValidated"},
		{"notifications and responses are answered with 202 and no body", "TestLegacyStatuses TestM16StrayAnswersAreNotAnswered"},
		{"what is not accepted is answered with an error status", "TestLegacyStatuses"},
		{"a request is answered with JSON or a stream", "TestLegacyAccept"},
		{"a client that disconnects does not cancel; which is a SHOULD, but much depends on it", "TestLegacyDisconnectMustNotCancel"},
		{"2025-03-26: so is a batch with requests", "TestBatch"},
		{"GET is answered with a stream or 405", "TestMessagesMustBeOnOneStreamOnly TestModernGetAndDeleteMustBe405"},
		{"no responses on GET, unless it resumes", "TestGetMustNotHaveResponses TestResumption"},
		{"each message is on one stream", "TestMessagesMustBeOnOneStreamOnly"},
		{"ids of events are unique in the session", "TestEventIDsMustBeUnique TestEventIDsMustBeUniqueAmongReplicas"},
		{"nothing of another stream is sent again", "TestResumption TestResumptionOfItsOwnStream TestEventIDsMustBeUniqueAmongReplicas"},
		{"ids of sessions are visible ASCII", "TestSessionIDMustBeVisibleASCII"},
		{"a session that has ended is 404", "TestEverythingForASessionThatEndedMustBe404 TestDeletedSessionMustBe404"},
		{"a bad MCP-Protocol-Version is 400", "TestLegacyStatuses"},
	},
	"2024-11-05 basic/transports": {
		{"there are an endpoint for the stream and one for messages", "TestHTTPSSE"},
		{"the stream begins with the address for messages", "TestHTTPSSE TestEndpointMustBeOfThisServer"},
		{"which takes all messages by POST", "TestHTTPSSE TestHTTPSSEServerCallsTheClient"},
	},
	"2025-11-25 basic/lifecycle, and before": {
		{"initialize comes first", "TestLegacyStatuses server.TestG18MistakesAreErrors"},
		{"it is answered with capabilities and info", "server.TestWire server.TestCapabilitiesAreWhatThereIs"},
		{"with the version that was asked for, if it is spoken", "TestAgreedRevisionMustBeKept server.TestWire"},
		{"and else with one that is", "server.TestWire"},
		{"2025-03-26: not in a batch", "TestBatch"},
		{"the version is respected", "TestAgreedRevisionMustBeKept"},
		{"only what was negotiated is used", "TestAgreedRevisionMustBeKept server.TestElicitationIsNotForOldRevisions"},
	},
	"2025-11-25 basic and basic/utilities, and before": {
		{"ids of requests are never used again in a session", "TestServerCallsTheClient"},
		{"a response has a result or an error, and not both", "rpc.TestAnswers"},
		{"2025-03-26: batches are understood", "TestBatch TestBatchWithADuplicateAndACancellation server.TestWire"},
		{"ping is answered at once, with nothing", "TestLegacyStatuses TestHTTPSSE server.TestG7SlowHandlersDelayNobody"},
		{"cancellation is of what was issued in the same direction, and goes on", "TestLegacyCancellation TestServerCallsTheClient"},
		{"races do no harm", "TestLegacyCancellation rpc.TestCancelInbound"},
		{"progress of a task has the token of its request", "server.TestTaskLater - behind the creation of a task there is none, but a status"},
		{"and stops with the task", "server.TestTaskLater"},
	},
	"security best practices": {
		{"all requests are verified, where there is authorization", "TestPrincipal TestM10SessionsAreMadeByInitialize"},
		{"sessions are not used for authentication", "TestSessionHijacking TestCarriedSessionMustBeOfItsPrincipal"},
		{"ids of sessions cannot be guessed", "TestSessionIDMustBeVisibleASCII"},
		{"tokens that were issued for others are not accepted", "- authorization's"},
		{"a proxy for a third party has the consent of each client", "- authorization's"},
	},
}

// The tests that are said to prove something are there, and those that are called after a MUST are said to prove one.
func TestMusts(t *testing.T) {
	tests := map[string]map[string]bool{}
	for name, dir := range map[string]string{"": ".", "server": "..", "mcp": "../../rpc/mcp", "rpc": "../../rpc", "schema": "../../dispatch/schema"} {
		var err error
		tests[name], err = conformance.TestsOf(dir)
		assert.NilError(t, err)
	}
	proving := map[string]bool{}
	for page, rows := range musts {
		for _, m := range rows {
			proof, open, _ := strings.Cut(m.proof+" ", "- ")
			assert.Check(t, strings.TrimSpace(proof+open) != "", "%s: %s: neither a test nor a reason", page, m.what)
			for _, name := range strings.Fields(proof) {
				pkg, test, ok := strings.Cut(name, ".")
				if !ok {
					pkg, test = "", name
				}
				assert.Check(t, tests[pkg][test], "%s: %s: there is no test %s", page, m.what, name)
				proving[test] = true
			}
		}
	}
	for _, pkg := range []string{"", "server"} {
		for test := range tests[pkg] {
			assert.Check(t, proving[test] || !strings.Contains(test, "Must") || test == "TestMusts", "%s is in no row", test)
		}
	}
}
