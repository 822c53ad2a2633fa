package processgroup

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"
)

const fixtureEnv = "PROCESSGROUP_FIXTURE"

// fixtures are what this test program does when it is started as a command.
var fixtures = map[string]func(){
	"args": func() { json.NewEncoder(os.Stdout).Encode(os.Args[1:]) },
}

func TestMain(m *testing.M) {
	if run := fixtures[os.Getenv(fixtureEnv)]; run != nil {
		run()
		syscall.Exit(0) // not os.Exit: coverage would write to stderr
	}
	os.Exit(m.Run())
}
