package processgroup

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

const fixtureEnv = "PROCESSGROUP_FIXTURE"

// fixtures are programs that this test program becomes when it is started as a command.
var fixtures = map[string]func(){
	"args": func() { json.NewEncoder(os.Stdout).Encode(os.Args[1:]) },
	// stubborn ignores interrupts and SIGTERM, and reports when it does.
	"stubborn": func() {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
		fmt.Println("ready")
		os.Stderr.WriteString(".")
		<-time.After(2 * time.Minute)
	},
	// leave leaves a stubborn process behind, which shares its stdout.
	"leave": func() { startStubborn() },
	"stay": func() {
		startStubborn()
		<-time.After(2 * time.Minute)
	},
}

// startStubborn starts a stubborn process, which shares stdout, and returns when it is ready.
func startStubborn() {
	self, err := os.Executable()
	check(err)
	r, w, err := os.Pipe()
	check(err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fixtureEnv+"=stubborn")
	cmd.Stdout, cmd.Stderr = os.Stdout, w
	check(cmd.Start())
	_, err = r.Read(make([]byte, 1))
	check(err)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	maps.Copy(fixtures, systemFixtures)
	if run := fixtures[os.Getenv(fixtureEnv)]; run != nil {
		run()
		syscall.Exit(0) // with os.Exit, coverage would write to stderr
	}
	os.Exit(m.Run())
}
