package conformance_test

import (
	"testing"

	"github.com/stdwire/stdwire/internal/conformance"
)

// pitfalls are mistakes of gateways with rules, rates, the credentials of users and replicas, as
// others have made them, and the tests that fail if this one makes them. replicaCases has the
// reports of those with replicas.
var pitfalls = map[string][]conformance.Claim{
	"rules": {
		{"a deny that cannot be evaluated does not deny; a missing claim grants something",
			"policy.TestDecisionsAreThoseOfTheRules policy.TestRealRules"},
		{"lists hide what can be called, or show what no arguments permit",
			"policy.TestDecisionsAreThoseOfTheRules TestRulesMatrix"},
		{"lists and calls are decided in two places, which come to differ",
			"TestRulesMatrix main.TestRulesDecideEverywhere"},
		{"one of the ways to an item is not checked: completions, searches, resources, " +
			"templates, prompts, skills, tasks, subscriptions, the HTTP API",
			"access.TestHiddenIsUnknown access.TestOwnSkills TestRulesMatrix " +
				"main.TestRulesDecideEverywhere server.TestVisible server.TestVisibleOperations"},
		{"the answer about a hidden item differs from that about an unknown one",
			"access.TestHiddenIsUnknown"},
		{"a denial tells its caller the rules", "access.TestDenialByArgument TestRulesMatrix"},
		{"call_tool is decided, counted or logged in place of the tool that it calls",
			"server.TestCallToolIsTheInnerCall streamable.TestAuthorizeInnerTool " +
				"access.TestHiddenIsUnknown rates.TestThroughAGateway"},
		{"an argument is there twice, in another case or in other characters, " +
			"and the server reads another one than the rule", "policy.TestRealRules"},
		{"a path or URI that leads elsewhere than it begins", "policy.TestRealRules " +
			"policy.TestDecisionsAreThoseOfTheRules"},
		{"a pattern takes long", "policy.TestParseErrors - there are no regular expressions"},
		{"an unknown member of a rule is ignored", "policy.TestParseErrors"},
		{"rules that cannot be read mean no rules", "main.TestUnreadableRules"},
		{"clients, or caches between, keep lists that were made for others",
			"server.TestVisible gateway.TestCachedResultsOfPrincipals"},
		{"a change of rules reaches no client that is connected",
			"access.TestChangesOfRules TestRulesMatrix"},
		{"the answer to a question of a rule is used for another call or by another user",
			"access.TestAsk streamable.TestRequestStateMustBeOfItsPrincipal " +
				"auth.TestStateMustBeOfItsPrincipal"},
		{"a client that cannot be asked is let through", "access.TestAsk TestRulesMatrix"},
	},
	"identities": {
		{"another user goes on in the session of the first",
			"auth.TestSessionsMustBeOfTheirPrincipal streamable.TestSessionHijacking " +
				"streamable.TestReplicaSessionMustBeOfItsPrincipal TestRulesMatrix"},
		{"two ways to an identity give the same principal", "auth.TestPrincipalsAreUnambiguous"},
		{"tasks are anybody's who knows their id", "server.TestTasksBelongToPrincipals " +
			"streamable.TestM15TasksAreOfTheirPrincipal"},
		{"what a revoked token has opened stays open", "TestRulesMatrix " +
			"transport.TestRevokedTokenEndsWhatItOpened tokenfile.TestFollow"},
		{"the audit log does not say who it was",
			"TestRulesMatrix gateway.TestAuditPrincipal gateway.TestPrincipalsAndSessions"},
	},
	"rates": {
		{"some buckets are charged though another one refuses", "rate.TestAllOrNone"},
		{"more than burst and rate are admitted over a window", "rate.TestAdmittedOverAnyWindow"},
		{"the wait that is named is not the true one, or not in the text that a model reads",
			"rates.TestRefusals"},
		{"names with separators in them share a bucket", "rate.TestKeysDiffer"},
		{"lists and explanations are charged, and calls that reached no server stay charged",
			"rate.TestRefund rates.TestNotSent rates.TestThroughAGateway"},
		{"a server that asks for a pause is called all the same, or paused for all users",
			"rates.TestServerAsksForAPause rates.TestPauseOfAUser"},
		{"who waits for a place waits forever, or keeps it after he has gone",
			"rate.TestWaitingEnds rate.TestRoomToWait rates.TestConcurrent rates.TestPanic"},
		{"principals that are invented fill the memory", "rate.TestNumberOfBuckets"},
		{"a clock that is set back opens or closes all buckets", "rate.TestClockSetBack"},
	},
	"credentials": {
		{"the token with which a user calls the gateway is passed to a server",
			"TestRulesMatrix target.TestUserCredentials"},
		{"headers that nobody has listed are passed on",
			"TestRulesMatrix target.TestUserCredentials credential.TestHeaders"},
		{"a redirect takes a user's headers to another server", "credential.TestHeaders"},
		{"the gateway's own tokens are exchanged", "credential.TestUser"},
		{"users, or tokens of one user that permit different things, share a connection",
			"credential.TestUserNames gateway.TestPerUser"},
		{"a user who is refused is served with the credentials of the service",
			"target.TestUserCredentials TestRulesMatrix"},
		{"a refusal is remembered for others, or asked for again and again",
			"credential.TestRefusals auth_client.TestTokenExchangeRefusals"},
		{"an exchanged token outlives the one that it was made of",
			"auth_client.TestTokenExchangeLifetimes"},
		{"many calls at once make many exchanges", "auth_client.TestTokenExchangeSingleFlight"},
		{"a scope that is missing is never asked for", "auth_client.TestTokenExchangeStepUp"},
		{"one user's process is another's, or there is one for each invented user",
			"TestRulesMatrix gateway.TestPerUserLimit"},
		{"the identity provider sees the server's token, or vouches with an access token",
			"credential.TestIDJAG auth_client.TestIdentityAssertion"},
		{"secrets are in logs, errors, audit lines or recordings",
			"TestRulesMatrix target.TestUserCredentials credential.TestErrorsQuoteNoHeader " +
				"tap.TestRedact config.TestCredentialSecrets"},
		{"hooks inherit them", "hook.TestHooksInheritNoCredentials"},
		{"sealed rows of a store are exchanged", "store.TestSealed"},
	},
	"replicas": {
		{"a session works at the replica that opened it, or ends with that one",
			"TestReplicasWithStore streamable.TestReplicasShareSessions"},
		{"an answer or a cancellation has no effect at another replica than the one that asked",
			"TestReplicasWithStore streamable.TestReplicasShareAnswersAndCancellations"},
		{"an answer that was accepted is lost with the store",
			"TestReplicasWithStore shared.TestAnswerIsLostWithTheStore"},
		{"who cannot pass a call on runs it, although the owner may have begun it",
			"streamable.TestForwardedCallsRunOnce streamable.TestConnectionToTheOwnerBreaks"},
		{"a call that a proxy sends again runs again",
			"TestReplicasWithStore streamable.TestReplicasRunCallsOnce"},
		{"a replica that has stood still goes on with sessions that are another one's by then",
			"TestReplicasWithStore shared.TestReplicaLeases streamable.TestOwnerIsGone " +
				"streamable.TestOwnerLearnsOfAnother"},
		{"servers of sessions are found by one replica only, or never again after it was killed",
			"TestReplicasWithServersOfSessions streamable.TestForwarding"},
		{"large results, progress and cancellations are lost on the way between replicas",
			"TestReplicasWithServersOfSessions streamable.TestForwarding"},
		{"a replica that is stopped takes sessions and answers with it",
			"TestReplicasWithStore streamable.TestOwnerIsDrained " +
				"streamable.TestResumptionFromAReplicaThatEnds"},
		{"while the store is down, all clients hear that their session is gone, and come at once",
			"TestReplicasWithStore streamable.TestReplicasWithoutTheirStore " +
				"shared.TestEmptiedStore"},
		{"while the store is slow, nothing works, or works twice", "TestReplicasWithStore"},
		{"while the store is down, rates admit everything", "rates.TestStoreIsDown"},
		{"a change is told to the clients of one replica, or depends on a notice that may be lost",
			"TestReplicasWithStore streamable.TestReplicasShareChanges " +
				"streamable.TestReplicasShareChangesLater"},
		{"a stream cannot be resumed elsewhere", "streamable.TestResumptionAtAnyReplica"},
		{"a task is polled, answered or cancelled only where it runs, or lost in silence",
			"streamable.TestReplicasShareTasks shared.TestLostReplica"},
		{"the id of a session can be forged, or used by another principal",
			"streamable.TestForgedForwarding streamable.TestSharedSessionsBelongToTheirPrincipal " +
				"streamable.TestReplicaSessionMustBeOfItsPrincipal"},
		{"what the store has can be read, or exchanged", "store.TestSealed"},
	},
}

func TestPitfalls(t *testing.T) {
	const binary = "../../cmd/stdwire/internal/"
	conformance.CheckClaims(t, pitfalls, map[string]string{"": ".", "policy": "../policy",
		"rate": "../rate", "store": "../store", "server": "../../server",
		"streamable": "../../server/streamable",
		"shared":     "../../server/streamable/internal/shared", "auth": "../../server/auth",
		"auth_client": "../../client/auth", "gateway": "../../client/host/gateway",
		"config": "../../client/host/config", "main": "../../cmd/stdwire",
		"access": binary + "access", "rates": binary + "rates", "tokenfile": binary + "tokenfile",
		"transport": binary + "transport", "credential": binary + "credential",
		"target": binary + "target", "hook": binary + "hook", "tap": binary + "tap"})
}
