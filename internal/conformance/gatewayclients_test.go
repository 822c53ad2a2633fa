//go:build linux

package conformance_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/internal/eventually"
)

// The fixture behind the gateway, in each era, with the clients of the official SDKs: the results
// are the same as without the gateway.
func TestSDKClientsOfGateway(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		for _, c := range sdkClients {
			t.Run(c.name+", "+era+" server", func(t *testing.T) {
				b := newNodeBench(t)
				server := fixture(t)
				tapped := b.tapped("behind", server...)
				command := b.gateway(
					map[string]configured{
						"fixture": {Command: tapped[0], Args: tapped[1:], Era: era}})
				got := b.clientOf(c,
					map[string]any{"command": b.tapped("record", command...),
						"prefix": "fixture__"})
				assert.Equal(t, got.Server.Name, "stdwire")
				got.onFixture(t)
				b.checkServer("record")
				b.checkClient("behind")
				b.unanswered("record", "fixture__block")
				b.unanswered("behind", "block")
				assert.Equal(t, b.modernCalls("behind"), era == "modern")
			})
		}
	}
}

// All features of the SDKs, over stdio and HTTP, through the gateway to a server of each era.
func TestSDKClientsOfEverythingBehindGateway(t *testing.T) {
	const token = "a token that nobody guesses"
	for _, era := range []string{"legacy", "modern"} {
		for _, transport := range []string{"stdio", "http"} {
			for _, c := range sdkClients {
				t.Run(c.name+" by "+transport+", "+era+" server", func(t *testing.T) {
					t.Parallel() // because they mostly wait
					b := newNodeBench(t)
					own, err := everything()
					assert.NilError(t, err)
					servers := map[string]configured{"own": {Command: own, Era: era}}
					modern := c.name == "v2 modern" || c.name == "v2 auto"
					argument := map[string]any{"sdk": c.sdk, "era": c.era, "modern": modern,
						"prefix": "own__"}
					if transport == "http" {
						b.env = append(b.env, "STDWIRE_TEST_TOKEN="+token)
						argument["token"], argument["url"] = token,
							b.serving(b.gateway(servers, "--token-env", "STDWIRE_TEST_TOKEN",
								"--http")...).tapped
					} else {
						argument["command"] = b.tapped("record", b.gateway(servers)...)
					}
					got := b.everythingClient(argument)
					assert.Equal(t, len(got.Tools), 37) // and host_status
					// the SDKs drop the last if it comes together with the answer, and the gateway
					// what is outdated before it has passed it on
					assert.Assert(t, len(got.Progress) > 0 && slices.IsSorted(got.Progress),
						"%v", got.Progress)
					for _, done := range got.Progress {
						assert.Assert(t, done == 0 || done == 50 || done == 100, "%v", got.Progress)
					}
					assert.DeepEqual(t, got.Resources, everythingResources)
					assert.DeepEqual(t, got.Templates, []string{"test://template/{id}/data"})
					assert.Equal(t, got.Binary, "PNG")
					assert.Equal(t, got.Templated, "a b")
					assert.Equal(t, got.Prompt, "Prompt with arguments: arg1='x', arg2='y'")
					assert.DeepEqual(t, got.Completion, []string{"test", "testValue1"})
					assert.Equal(t, got.Updated, "test://watched-resource")
					assert.DeepEqual(t, got.Changed, []bool{true, true})
					assert.Assert(t, strings.Contains(got.Cancelled.Message, "enough"), "%v",
						got.Cancelled)
					assert.Equal(t, got.Prompted, "Context: "+sdkAnswer)
					calls, asked := maps.Clone(sdkCalls), slices.Clone(sdkAsked)
					if !modern {
						calls["cut"] = calls["test_elicitation"]
						asked = append(asked, "Still there?", "After a cut?")
					}
					assert.DeepEqual(t, got.Calls, calls)
					slices.Sort(asked)
					slices.Sort(got.Asked)
					assert.DeepEqual(t, got.Asked, asked)
					b.checkServer("record")
				})
			}
		}
	}
}

// The inspector's command line, on real servers behind the gateway.
func TestInspectorOfGateway(t *testing.T) {
	for _, era := range []string{"legacy", "modern", "auto"} {
		t.Run(era, func(t *testing.T) {
			b := newNodeBench(t)
			command := b.gateway(b.real())
			for _, c := range []struct {
				args string
				code int
				want string
			}{
				// fails if a schema is not one that most clients support
				{"tools/list --strict", 0, `"name":"memory__read_graph"`},
				{"tools/call --tool-name everything__get-sum --tool-arg a=2 b=3", 0,
					"The sum of 2 and 3 is 5."},
				{"tools/call --tool-name files__read_text_file --tool-arg path=" +
					b.path("root/hello.txt"), 0, "Hello, world."},
				{"tools/call --tool-name modern__test_error_handling", 5, `"isError":true`},
				{"tools/call --tool-name everything__nothing", 5, ""},
				{"resources/read --uri demo://resource/dynamic/text/7", 0, "Resource 7:"},
				{"resources/read --uri test://template/7/data", 0, "Data for ID: 7"},
				{"prompts/get --prompt-name everything__args-prompt --prompt-args city=Oslo", 0,
					"What's weather in Oslo?"},
			} {
				inspector := append(
					[]string{"mcp-inspector", "--cli", "--format", "json", "--protocol-era", era,
						"--method"}, strings.Fields(c.args)...)
				o := b.run(slices.Concat(inspector, []string{"--"},
					b.tapped("record", command...))...)
				assert.Equal(t, o.code, c.code, "%v: %v", c.args, o)
				assert.Assert(t, strings.Contains(o.stdout, c.want), "%v: %v", c.args, o)
				// the inspector gives a server four seconds, and then ends the tap alone
				eventually.AtMost(t, "programs", 0,
					func() int { return len(conformance.RunningIn(b.dir)) })
			}
			b.checkServer("record")
		})
	}
}
