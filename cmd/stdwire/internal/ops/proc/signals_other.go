//go:build !unix && !windows

package proc

import (
	"encoding/json"
	"syscall"

	"github.com/stdwire/stdwire/dispatch"
)

// SignalInput are the arguments of proc.signal.
type SignalInput struct {
	dispatch.Session
	Signal string `json:"signal" enum:"KILL"`
}

const (
	signalHelp = "There is only KILL here."
	stopHelp   = "close its stdin, and kill it when grace_ms are over."
)

var signalExample = dispatch.Example{
	Summary: "At once",
	Input:   json.RawMessage(`{"session":"python3-4f9a2c","signal":"KILL"}`),
}

// signals maps names to the signals of this system.
var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL}
