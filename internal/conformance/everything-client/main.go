// Everything-client is a client for the official MCP conformance suite. It runs all scenarios.
//
//	conformance client --command ./everything-client --scenario tools_call
//
// The suite starts it for each scenario, with a server's URL as the last argument and the scenario
// in MCP_CONFORMANCE_SCENARIO. The client must detect the era of the server;
// MCP_CONFORMANCE_PROTOCOL_VERSION is only compared with the result. With -told, the client is
// configured with that revision and must end up with it. It exits with status 1 on any deviation
// and prints "done" otherwise, because the suite ignores the status in some scenarios.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// patience limits a scenario. The suite kills the shell in which it starts a client, but not the
// client.
const patience = 25 * time.Second

func main() {
	told := flag.Bool("told", false, "speak the revision of MCP_CONFORMANCE_PROTOCOL_VERSION")
	flag.Parse()
	name, revision := os.Getenv("MCP_CONFORMANCE_SCENARIO"),
		mcp.Revision(os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"))
	log.SetFlags(0)
	log.SetPrefix(name + ": ")
	time.AfterFunc(patience+2*time.Second,
		func() { log.Fatal("it has not ended although its time has run out") })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx, name, revision, *told, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
	fmt.Println("done")
}

func run(ctx context.Context, name string, revision mcp.Revision, told bool,
	url string) (err error) {
	s, ok := scenarios[name]
	a, err := authorizer(name, url)
	switch {
	case err != nil:
		return err
	case a != nil:
		s = scenario{run: testTool}
	case !ok:
		return fmt.Errorf("MCP_CONFORMANCE_SCENARIO is none of %q",
			slices.Sorted(maps.Keys(scenarios)))
	}
	if told {
		s.options.Revision = revision
	}
	var dial streamable.Options
	if a != nil {
		dial.Wrap = a.Wrap
		defer func() { err = expectRefusal(name, err) }()
	}
	c, err := s.options.Connect(ctx, dial.Dial(url))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cmp.Or(c.Close(), c.Wait())) }()
	if c.Era() != mcp.EraOf(revision) && !s.otherEra || told && c.Revision() != revision {
		return fmt.Errorf("spoke revision %s with a server of %s", c.Revision(), revision)
	}
	return s.run(ctx, c)
}
