package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/conformance"
)

// A row is a promise to users and the tests that prove it. A test of another package is written
// with its package: client.TestStats. Text after a dash says why there is no test, or what the
// tests leave open.
type row = conformance.Claim

// acceptance lists what stdwire does with faulty servers. Each row was observed with a real server,
// or is missing in another program.
var acceptance = map[string][]row{
	"what has to work": {
		{"logs on stdout, CRLF and messages in pieces do no harm",
			"TestNoiseOnStdout conformance.TestBrokenServers"},
		{"a server that ends at its start is told in less than a second, with its status and its last words: 4",
			"TestCrashAtStartIsReportedAtOnce conformance.TestBrokenServers"},
		{"a server that never answers is given up at --start-timeout: 4",
			"TestTimeouts conformance.TestBrokenServers"},
		{"and nothing of it is left, also if it ignores SIGTERM",
			"conformance.TestBrokenServers client.TestSpawnFails"},
		{"a tool that never answers is given up at --timeout, and told so: 6", "TestTimeouts"},
		{"a server that dies in a call is told in less than a second: 6",
			"TestCallFailures conformance.TestBrokenServers"},
		{"a tool that fails: 5", "TestCallFailures"},
		{"a result of 5 MB comes whole", "TestCall client.TestLargeResult"},
		{"and through the gateway", "TestLargeUpstreamResult"},
		{"an argument of 12 MiB is not sent: 7",
			"TestCallFailures conformance.TestRequestTooLargeIsNotSent"},
		{"a process that the server leaves behind has ended, although it holds stdout",
			"TestNothingIsLeftRunning conformance.TestBrokenServers child.TestStopEndsTheWholeGroup"},
		{"of many changes of a list at once clients of the gateway hear once",
			"gateway.TestBurstOfChanges"},
		{"server/discover: a refusal leads to initialize",
			"client.TestConnect"},
		{"so does silence", "client.TestConnect"},
		{"so does a server that ends for it", "client.TestSpawn"},
		{"another description trips the pin", "pin.TestChanged"},
		{"so does another schema", "pin.TestChanged"},
		{"so does another annotation", "pin.TestChanged"},
		{"a killed server's tools stay, and a call waits until it is there again",
			"TestUpstreamIsKilled gateway.TestListStaysWhileServerRestarts"},
		{"IDs with __ are refused, so that no two names of tools can be the same",
			"config.TestIDs itemname.TestCheckID"},
	},
	"exit codes": {
		{"0: done", "TestCall TestServe"},
		{"1 internal", "command.TestUnexpectedErrors"},
		{"2 usage, and no server is started",
			"TestUsageErrors TestNothingIsStartedForWrongArguments"},
		{"2 bad_args", "TestCallFailures TestNothingIsStartedForWrongArguments"},
		{"3 auth_required", "TestRemoteUnauthorized"},
		{"4 unreachable", "TestRemoteUnreachable"},
		{"4 spawn_failed", "TestServersThatCannotBeStarted"},
		{"4 start_exit", "TestCrashAtStartIsReportedAtOnce"},
		{"4 start_timeout", "TestTimeouts"},
		{"5 tool_is_error", "TestCallFailures"},
		{"5 not_found: tool, resource, prompt", "TestCallFailures TestReadFailures"},
		{"6 call_timeout", "TestTimeouts"},
		{"6 server_died", "TestCallFailures"},
		{"7 too_large", "TestCallFailures"},
		{"7 untrusted", "TestSelectedServer"},
		{"7 denied", "TestSelectedServer"},
		{"7 pin_changed",
			"TestPins - a tool that has changed is not offered by the gateway, and is unknown there; other commands look at pins only if they are pin's"},
		{"8 config", "TestServeOthersUsage configcmd.TestConfigCheck"},
		{"10 findings", "TestScan TestPins TestSavedCalls"},
		{"130 and 143: a signal", "TestInterruptedByASignal TestSignalsInThisProcess"},
		{"no code changes", "target.TestExitCodes"},
	},
	"messages": {
		{"the last line of stderr is the failure, and its hint",
			"command.TestFailurePrinted TestCallFailures"},
		{"with -o json it is one line of JSON",
			"command.TestFailureAsJSON TestCrashAtStartIsReportedAtOnce"},
		{"stdout carries results only", "TestCallFailures"},
		{"an unknown name: those that there are, and the nearest", "TestCallFailures"},
		{"a crash at the start: status and last words", "TestCrashAtStartIsReportedAtOnce"},
		{"no such program: where it was looked for",
			"TestServersThatCannotBeStarted client.TestSpawnFails"},
		{"a launcher that downloads: that it is still starting, and why", "TestStillStarting"},
	},
	"servers as they are": {
		{"launchers: the whole process group ends",
			"child.TestStopEndsTheWholeGroup conformance.TestServerThroughNpx"},
		{"a grandchild holds stdout open",
			"child.TestGrandchildHoldsStdout TestNothingIsLeftRunning"},
		{"a server outlives the end of stdin", "child.TestStopLadder client.TestCloseStubborn"},
		{"stdout is full of chatter, which inspect shows", "client.TestStats TestNoiseOnStdout"},
		{"CRLF and blank lines", "framing.TestNewlineRead TestNoiseOnStdout"},
		{"messages come in pieces", "framing.TestRoundTrip TestNoiseOnStdout"},
		{"messages of many MB come; over 10 MiB none are sent, in neither direction",
			"client.TestLargeResult client.TestCallFails server.TestLargeResults TestLargeUpstreamResult"},
		{"what was cancelled goes on, and says so", "client.TestCancelIsNotHeeded"},
		{"what it does not understand is met with silence: calls end by their timeout",
			"client.TestTimeout TestTimeouts"},
		{"an unknown tool is a result, or an error", "TestCallFailures"},
		{"lists change while they are being made",
			"client.TestToolsChanged gateway.TestBurstOfChanges"},
		{"requests come unasked", "client.TestServerRequests"},
		{"stderr is chatty", "child.TestChattyStderr conformance.TestBrokenServers"},
		{"it dies at the start", "TestCrashAtStartIsReportedAtOnce"},
		{"a launcher does not find it", "client.TestSpawnFails child.TestHints"},
		{"initialize may be said twice",
			"- nobody does: who lives is told by the process, and by its last answer"},
		{"tools show the environment: there is no more in it than is needed",
			"child.TestEnviron TestInspect"},
		{"npx is npx.cmd on Windows", "- no test runs there"},
		{"two of one server would write to one file: they share it, or do not",
			"host.TestPerSession host.TestStartAtFirstUse"},
	},
	"what users would miss": {
		{"any server can be read", "client.TestStats TestNoiseOnStdout client.TestLargeResult"},
		{"why a server does not start, at once", "TestCrashAtStartIsReportedAtOnce"},
		{"calls that end, and are cancelled", "TestTimeouts client.TestCancel"},
		{"no orphans", "TestNoOrphans child.TestNothingLeft child.TestParentKilled"},
		{"every application's configuration, comments and variables in it",
			"config.TestApplications jsonedit.TestStripComments config.TestExpand"},
		{"Codex's TOML, and Zed's older form", "config.TestCodex config.TestApplications toml.TestParse toml.TestErrors"},
		{"names that are no ids, in another case too", "config.TestNamesAreRepaired"},
		{"servers are installed into applications and removed, and nothing else in their files changes",
			"installcmd.TestInstall installcmd.TestInstallSources installcmd.TestInstallUsage installcmd.TestInstallRefusals installcmd.TestInstallAtTheSameTime appfile.TestInstall appfile.TestUninstall"},
		{"what an application cannot do is refused", "appfile.TestForms appfile.TestInstallErrors"},
		{"exit codes for scripts, and JSON", "target.TestExitCodes command.TestFailureAsJSON"},
		{"tools as signatures, arguments by their schema",
			"output.TestSignature arguments.TestCoercionBySchema"},
		{"names that do not collide, and are not too long",
			"gateway.TestCollision itemname.TestPublicName"},
		{"filters that hold for calls too, and whose mistakes are errors",
			"TestServeOthers gateway.TestServerComesAndGoes host.TestFilter"},
		{"changes of lists go through, tools of dead servers stay",
			"gateway.TestListFollows gateway.TestListStaysWhileServerRestarts"},
		{"servers are started again, stopped when idle, and their tools listed without starting them",
			"backoff.TestPause host.TestIdleStop host.TestTooManyFailures gateway.TestCache"},
		{"tools that have changed are blocked, with a diff",
			"TestPins gateway.TestPins pin.TestChanged"},
		{"servers are enabled, disabled and restarted while the gateway runs",
			"TestServeOthers TestControl host.TestDisable"},
		{"a changed configuration is followed, and a broken one changes nothing",
			"TestReload TestReloadOfWhatIsBroken TestProfilesFollow"},
		{"traffic can be seen, and recorded without secrets",
			"TestTapOfAConversation TestTapRedacts TestShellTrace"},
		{"HTTP is for those with the token, from here; a project's servers only if agreed to",
			"streamable.TestOriginMustBeValidated streamable.TestPrincipal TestTrust"},
		{"secrets are not shown", "config.TestRedacted configcmd.TestConfigShow TestInspect"},
	},
}

func TestAcceptance(t *testing.T) {
	t.Parallel()
	conformance.CheckClaims(t, acceptance, map[string]string{
		"": ".", "command": "internal/command", "arguments": "internal/arguments",
		"output": "internal/output", "target": "internal/target",
		"framing": "../../framing", "child": "../../internal/child",
		"conformance": "../../internal/conformance", "client": "../../client",
		"host": "../../client/host", "backoff": "../../internal/backoff",
		"gateway": "../../client/host/gateway", "config": "../../client/host/config",
		"configcmd": "internal/configcmd", "installcmd": "internal/installcmd",
		"appfile": "internal/appfile", "jsonedit": "../../internal/jsonedit",
		"toml":     "../../internal/toml",
		"itemname": "../../internal/itemname", "pin": "../../internal/pin",
		"server":     "../../server",
		"streamable": "../../server/streamable",
	})
	for code := range command.ExitCodes {
		// tested with other codes, or listed by number
		known := map[string]bool{"refused": true, "hangup": true, "interrupted": true,
			"closed_pipe": true, "terminated": true}
		for _, r := range acceptance["exit codes"] {
			known[code] = known[code] || strings.Contains(r[0], code)
		}
		assert.Check(t, known[code], "the exit code of %s is in no row", code)
	}
}
