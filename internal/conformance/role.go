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

// The first arguments by which PlayRole knows what to be.
const (
	RoleTap     = "conformance-tap"     // RECORD SERVER ARGUMENT…: Tap
	RoleFixture = "conformance-fixture" // a server of Fixture on stdin and stdout
	RoleWild    = "conformance-wild"    // ID WILDNESS…: Wild
)

// PlayRole makes a test binary be the tap or the fixture server, and exits when that has ended, if its first argument says so. A
// TestMain calls it before anything else.
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
		err = quiet.New(server.Info{Name: "fixture", Version: "1"}, Fixture()).ServeStdio(context.Background())
	case RoleWild:
		err = ServeMisbehaving(os.Stdin, os.Stdout, os.Args[2], os.Args[3:]...)
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
