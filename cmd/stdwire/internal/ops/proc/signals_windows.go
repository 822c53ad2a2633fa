package proc

import (
	"encoding/json"
	"syscall"

	"github.com/stdwire/stdwire/dispatch"
)

// SignalInput are the arguments of proc.signal.
type SignalInput struct {
	dispatch.Session
	Signal string `json:"signal" enum:"TERM,KILL"`
}

const (
	signalHelp = "TERM is a CTRL_BREAK event, which ends a program that does not handle it. " +
		"It takes a console that both stdwire and the process have. " +
		"KILL ends the process and all that it has started. Windows has no other signals."
	stopHelp = "close its stdin, send a CTRL_BREAK event soon after if that does not end it, " +
		"and kill it when grace_ms are over."
)

var signalExample = dispatch.Example{
	Summary: "Ask it to end",
	Input:   json.RawMessage(`{"session":"python3-4f9a2c","signal":"TERM"}`),
}

// signals maps names to the signals that a caller can send or that can end a process. INT stands
// for the end by a console event.
var signals = map[string]syscall.Signal{
	"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL,
}
