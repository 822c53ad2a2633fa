package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"

	"github.com/stdwire/stdwire/server"
)

// First arguments that select a role in PlayRole.
const (
	RoleTap     = "conformance-tap"     // RECORD SERVER ARGUMENT…: Tap
	RoleFixture = "conformance-fixture" // a server of Fixture on stdin and stdout
	RoleWild    = "conformance-wild"    // ID FAULT…: ServeMisbehaving
	RolePage    = "conformance-page"    // DESCRIPTION: ServePage
	RoleApp     = "conformance-app"     // PAGE ORIGIN…: ServeApp
	RoleSkills  = "conformance-skills"  // ServeBadSkills
	RoleRules   = "conformance-rules"   // NAME DIR: ServeRules
)

// PlayRole runs the role that the first argument of the process selects, if any, and exits. A
// TestMain calls it first, so that a test can start its own binary as a server or tap.
func PlayRole() {
	if len(os.Args) < 2 {
		return
	}
	var err error
	switch os.Args[1] {
	case RoleTap:
		err = Tap(os.Args[2], os.Args[3], os.Args[4:]...)
	case RoleFixture:
		quiet := server.Options{Logger: slog.New(slog.DiscardHandler)}
		err = quiet.New(server.Info{Name: "fixture", Version: "1"},
			Fixture()).ServeStdio(context.Background())
	case RoleWild:
		err = ServeMisbehaving(os.Stdin, os.Stdout, os.Args[2], os.Args[3:]...)
	case RolePage:
		err = ServePage(os.Stdin, os.Stdout, os.Args[2])
	case RoleSkills:
		err = ServeBadSkills(os.Stdin, os.Stdout)
	case RoleRules:
		err = ServeRules(os.Args[2], os.Args[3])
	case RoleApp:
		err = ServeApp(context.Background(), os.Args[2], os.Args[3:]...)
	default:
		return
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
