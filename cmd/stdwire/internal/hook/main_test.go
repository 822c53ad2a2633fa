package hook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
)

// fixtureEnv makes this test program a hook that obeys the calls; see fixture.
const fixtureEnv = "HOOK_FIXTURE"

// TestMain lets the test program stand in for the guard of the commands that hooks run, and for
// these commands.
func TestMain(m *testing.M) {
	guard.Main()
	switch os.Getenv(fixtureEnv) {
	case "":
		os.Exit(m.Run())
	case "once":
		fmt.Println(`{"arguments":{"new":true}}`)
	case "exits":
		os.Exit(3)
	default:
		fixture()
	}
}

// fixture is a persistent hook. For each call it does what the argument "do" says.
func fixture() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	var late []int64 // calls that are not answered yet
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	for lines.Scan() {
		var m struct {
			ID        int64
			Arguments struct{ Do, Arg string }
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			say("%v", err)
			continue
		}
		switch m.Arguments.Do {
		case "pass":
			say(`{"id":%d}`, m.ID)
		case "deny":
			say(`{"deny":"no","id":%d}`, m.ID)
		case "replace":
			say(`{"id":%d,"arguments":{"new":true}}`, m.ID)
		case "show":
			say(`{"id":%d,"deny":%q}`, m.ID, bytes.ReplaceAll(lines.Bytes(),
				fmt.Append(nil, m.ID), []byte("ID")))
		case "raw": // ID stands for the id
			say("%s", strings.ReplaceAll(m.Arguments.Arg, "ID", fmt.Sprint(m.ID)))
		case "long":
			say(`{"id":%d,"x":"%s"}`, m.ID, strings.Repeat("x", 2<<20))
		case "later": // answered after all that come before "now", the last one first
			late = append(late, m.ID)
		case "now":
			for i := len(late) - 1; i >= 0; i-- {
				say(`{"id":%d,"deny":"%d"}`, late[i], i)
			}
			say(`{"id":%d}`, m.ID)
			late = nil
		case "silent":
		case "child":
			c := exec.Command(os.Args[0])
			c.Env = []string{fixtureEnv + "=persistent"}
			c.Stdout = os.Stdout
			in, _ := c.StdinPipe() // stays open
			if err := c.Start(); err != nil || in == nil {
				say("%v", err)
			}
			say(`{"id":%d,"deny":"%d"}`, m.ID, c.Process.Pid)
		case "stderr":
			for i := range 1000 {
				fmt.Fprintln(os.Stderr, "complaint", i)
			}
			say(`{"id":%d}`, m.ID)
		case "close":
			os.Stdout.Close()
		case "deaf":
			os.Stdin.Close()
			say(`{"id":%d}`, m.ID)
			time.Sleep(time.Hour)
		case "exit":
			os.Exit(3)
		}
	}
	if os.Getenv("HOOK_STUBBORN") != "" {
		select {}
	}
}
