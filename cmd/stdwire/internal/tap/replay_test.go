package tap

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// A line is the part of a message that these tests read.
type line struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
}

// replay replays a recording to a server that passes each line it reads to a function, which
// answers by reply. It returns the result of the replay.
func replay(t *testing.T, recording string, ignore []string,
	server func(l line, reply func(format string, args ...any))) (lines []string, err error) {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	go func() {
		defer out.Close()
		for r := bufio.NewReader(in); ; {
			text, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var l line
			_ = json.Unmarshal(text, &l)
			server(l, func(format string, args ...any) {
				if format == "" {
					_ = in.Close()
					return
				}
				_, _ = fmt.Fprintf(out, format+"\n", args...)
			})
		}
	}()
	r := Replay{Timeout: time.Minute, Ignore: ignore, OnComparison: func(a Comparison) {
		text := fmt.Sprintf("%d %s %s", a.N, a.Message.Type, a.Message.Method)
		if a.Missing {
			text += " missing"
		}
		for _, c := range a.Changes {
			text += " " + c.String()
		}
		assert.Equal(t, a.IsSame(), !a.Missing && a.Changes == nil)
		lines = append(lines, text)
	}}
	err = r.Run(t.Context(), NewReader(strings.NewReader(recording)), stdin, stdout)
	synctest.Wait()
	return lines, err
}

func TestReplay(t *testing.T) {
	recording := record(t, Options{},
		`> {"id":1,"method":"a"}`+"\n", `> {"id":2,"method":"b"}`+"\n", // two at once
		`< {"id":"q7","method":"roots/list"}`+"\n", `< {"method":"progress"}`+"\n",
		`> {"result":{"roots":[]},"id":"q7"}`+"\n",
		`< {"id":2,"result":{"x":1,"at":"now"}}`+"\n", `< {"id":1,"result":{"y":[1]}}`+"\n",
		`< {"id":5,"method":"ping"}`+"\n", `> {"id":5,"result":{}}`+"\n",
		`> {"id":3,"method":"never"}`+"\n", `> not JSON`+"\n",
		`< {"id":null,"error":{"code":-32700}}`+"\n",
		`> {"id":1,"method":"again"}`+"\n", `< {"id":1,"error":{"code":-1,"message":"no"}}`+"\n",
	)
	synctest.Test(t, func(t *testing.T) {
		var got []string
		var open []string
		serve := func(l line, reply func(string, ...any)) {
			got = append(got, l.Method+string(l.ID)+string(l.Result))
			switch l.Method {
			case "a":
				open = append(open, string(l.ID))
			case "b":
				open = append(open, string(l.ID))
				reply(`{"id":"other","method":"roots/list"}`)
			case "again":
				reply("noise\n\n")
				reply(`{"id":%s,"error":{"message":"no","code":-1}}`, l.ID)
			}
			if string(l.Result) == `{"roots":[]}` {
				reply(`{"id":%s,"result":{"y":[1]}}`, open[0])
				reply(`{"id":%s,"result":{"at":"later","x":1}}`, open[1])
			}
		}
		lines, err := replay(t, recording, []string{"at"}, serve)
		assert.NilError(t, err)
		assert.DeepEqual(t, lines, []string{"6 response b", "7 response a", "14 response again"})
		assert.DeepEqual(t, got,
			[]string{"a1", "b2", `"other"{"roots":[]}`, "never3", "", "again1"})

		got, open = nil, nil
		lines, err = replay(t, recording, nil, serve)
		assert.NilError(t, err)
		assert.DeepEqual(t, lines,
			[]string{`6 response b ~ result.at: "now" → "later"`, "7 response a",
				"14 response again"})
	})
}

// The recorded server, the replayed one, or both write the id of a response in another notation.
func TestReplayOtherIDs(t *testing.T) {
	recording := record(t, Options{},
		`> {"id":1,"method":"a"}`+"\n", `< {"id":"1","result":1}`+"\n",
		`> {"id":2,"method":"b"}`+"\n", `< {"id":2,"result":2}`+"\n",
		`> {"id":3,"method":"c"}`+"\n", `< {"id":"3","result":3}`+"\n")
	synctest.Test(t, func(t *testing.T) {
		lines, err := replay(t, recording, nil, func(l line, reply func(string, ...any)) {
			if l.Method == "a" {
				reply(`{"id":%s,"result":1}`, l.ID)
				return
			}
			reply(`{"id":"%s","result":%[1]s}`, l.ID)
		})
		assert.NilError(t, err)
		assert.DeepEqual(t, lines, []string{"2 response a", "4 response b", "6 response c"})
	})
}

func TestReplayErrors(t *testing.T) {
	calls := func(n int) (messages []string) {
		for i := range n {
			messages = append(messages, fmt.Sprintf("> {\"id\":%d,\"method\":\"m\"}\n", i),
				fmt.Sprintf("< {\"id\":%d,\"result\":%d}\n", i, i))
		}
		return messages
	}
	for _, tt := range []struct {
		name     string
		messages []string
		redact   bool
		server   func(l line, reply func(string, ...any))
		lines    []string
		err      string
	}{
		{"one is missing", calls(3), false, func(l line, reply func(string, ...any)) {
			if string(l.ID) != "1" {
				reply(`{"id":%s,"result":%[1]s}`, l.ID)
			}
		}, []string{"2 response m", "4 response m missing", "6 response m"}, ""},
		{"silent", calls(9), false, func(line, func(string, ...any)) {},
			[]string{"2 response m missing", "4 response m missing", "6 response m missing"},
			ErrTooManyMissing.Error()},
		{"ends", calls(3), false, func(l line, reply func(string, ...any)) {
			reply(`{"id":%s,"result":%[1]s}`, l.ID)
			reply("")
		}, []string{"2 response m"}, ErrServerEnded.Error()},
		{"ends in a call", calls(2), false, func(_ line, reply func(string, ...any)) { reply("") },
			[]string{"2 response m missing"}, ErrServerEnded.Error()},
		{"does not ask",
			[]string{"> {\"id\":1,\"method\":\"m\"}\n", "< {\"id\":1,\"method\":\"ask\"}\n",
				"> {\"id\":1,\"result\":{}}\n", "< {\"id\":1,\"result\":1}\n"}, false,
			func(l line, reply func(string, ...any)) { reply(`{"id":%s,"result":1}`, l.ID) },
			[]string{"3 request ask missing", "4 response m"}, ""},
		{"redacted", calls(1), true, func(line, func(string, ...any)) {}, nil,
			"the recording is redacted: it lacks the values to send"},
		{"another result", calls(1), false, func(l line, reply func(string, ...any)) {
			reply(`{"id":0,"error":{}}`)
		}, []string{"2 response m + error: {} - result: 0"}, ""},
		{"the same name twice", calls(1), false, func(l line, reply func(string, ...any)) {
			reply(`{"id":0,"result":{"a":1,"a":2}}`)
		}, []string{`2 response m ~ : {"result":0} → {"result":{"a":1,"a":2}}`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			recording := record(t, Options{Redact: tt.redact}, tt.messages...)
			synctest.Test(t, func(t *testing.T) {
				lines, err := replay(t, recording, nil, tt.server)
				assert.DeepEqual(t, lines, tt.lines)
				if tt.err == "" {
					assert.NilError(t, err)
				} else {
					assert.Error(t, err, tt.err)
				}
			})
		})
	}
}

// A server that does not read does not block a replay for ever.
func TestReplayIsBounded(t *testing.T) {
	recording := record(t, Options{}, "> {\"id\":1,\"method\":\"m\"}\n",
		"< {\"id\":1,\"result\":1}\n")
	synctest.Test(t, func(t *testing.T) {
		_, stdin := io.Pipe()
		stdout, out := io.Pipe()
		defer out.Close()
		began := time.Now()
		err := (&Replay{Timeout: time.Minute, OnComparison: func(Comparison) {}}).Run(t.Context(),
			NewReader(strings.NewReader(recording)), stdin, stdout)
		assert.Equal(t, err, ErrNotReading)
		assert.Equal(t, time.Since(began), time.Minute)
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, stdin := io.Pipe()
		go io.Copy(io.Discard, in)
		stdout, out := io.Pipe()
		defer out.Close()
		time.AfterFunc(time.Second, cancel)
		err := (&Replay{Timeout: time.Minute, OnComparison: func(Comparison) {
			t.Error("answered")
		}}).Run(ctx, NewReader(strings.NewReader(recording)), stdin, stdout)
		assert.Equal(t, err, context.Canceled)
	})
}

// A truncated frame is compared by its digest, and cannot be sent again.
func TestReplayOfTruncatedFrames(t *testing.T) {
	large := strings.Repeat("x", MaxFrame)
	recording := record(t, Options{}, "> {\"id\":1,\"method\":\"m\"}\n",
		"< {\"id\":1,\"result\":\""+large+"\"}\n", "> {\"id\":2,\"method\":\"m\"}\n",
		"< {\"id\":2,\"result\":\""+large+"\"}\n",
		"> {\"id\":3,\"method\":\""+large+"\"}\n")
	synctest.Test(t, func(t *testing.T) {
		lines, err := replay(t, recording, nil, func(l line, reply func(string, ...any)) {
			if string(l.ID) == "2" {
				large = "short"
			}
			reply(`{"id":%s,"result":"%s"}`, l.ID, large)
		})
		assert.Error(t, err, "frame 5 of the recording is truncated: it cannot be replayed")
		assert.Equal(t, lines[0], "2 response m")
		assert.Assert(t, strings.HasPrefix(lines[1], "4 response m ~ (frame): 8388628 bytes "),
			lines[1])
	})
}
