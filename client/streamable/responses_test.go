package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestModern(t *testing.T) {
	inBubble(t, modern(answerCall), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{})
		assert.Equal(t, c.Era(), mcp.Modern)
		check(t, c)
		assert.NilError(t, c.Close())
		assert.DeepEqual(t, s.lines(), []string{
			"POST server/discover protocol-version=2026-07-28",
			"POST tools/call protocol-version=2026-07-28",
		})
	})
}

func TestLegacy(t *testing.T) {
	inBubble(t, legacy(answerCall, nil), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{})
		assert.Equal(t, c.Revision(), mcp.Rev20251125)
		check(t, c)
		assert.NilError(t, c.Close())
		assert.DeepEqual(t, s.lines(), []string{
			"POST server/discover protocol-version=2026-07-28",
			"POST initialize",
			"POST notifications/initialized session-id=s1 protocol-version=2025-11-25",
			"GET session-id=s1 protocol-version=2025-11-25",
			"POST tools/call session-id=s1 protocol-version=2025-11-25",
			"DELETE session-id=s1 protocol-version=2025-11-25",
		})
	})
}

// Valid and invalid responses to a call in both eras. None of them ends the connection.
func TestResponses(t *testing.T) {
	answer := func(r *recordedRequest) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.message.ID, text)
	}
	with := func(kind, format string) func(http.ResponseWriter, *recordedRequest) {
		return func(w http.ResponseWriter, r *recordedRequest) {
			respondWith(200, kind, strings.ReplaceAll(format, "ANSWER", answer(r)))(w, r)
		}
	}
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter, *recordedRequest)
		err    string
		is     error
	}{
		{"JSON", with("application/json", "ANSWER"), "", nil},
		{"JSON, with a charset", with("Application/JSON; charset=utf-8", " ANSWER\n"), "", nil},
		{"JSON on several lines", func(w http.ResponseWriter, r *recordedRequest) {
			respondWith(200, "application/json", strings.ReplaceAll(answer(r), ",", ",\r\n"))(w, r)
		}, "", nil},
		{"201", func(w http.ResponseWriter, r *recordedRequest) {
			respondWith(201, "application/json", answer(r))(w, r)
		}, "", nil},
		{"events", with("text/event-stream; charset=utf-8", "event: message\ndata: ANSWER\n\n"), "",
			nil},
		{"events, with CR", with("text/event-stream", "\ufeffdata: ANSWER\r\r"), "", nil},
		{"events, with other fields",
			with("text/event-stream",
				": hi\nfoo\n\nevent: ping\ndata: 1\n\ndata:ANSWER\nevent\n\n"), "", nil},
		{"events of another type", with("text/event-stream", "event: answer\ndata: ANSWER\n\n"),
			"the connection ended before the response", streamable.ErrDisconnected},
		{"an answer to another", with("application/json", `{"jsonrpc":"2.0","id":77,"result":{}}`),
			"the JSON body is not a response to the request", rpc.ErrProtocol},
		{"an answer to a string",
			with("application/json", `{"jsonrpc":"2.0","id":"03","result":{}}`),
			"the JSON body is not a response to the request", rpc.ErrProtocol},
		{"a request", with("application/json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
			"the JSON body is not a response to the request", rpc.ErrProtocol},
		{"no JSON", with("application/json", `<html>`),
			"the JSON body is not a response to the request",
			rpc.ErrProtocol},
		{"no body", with("application/json", ``), "the JSON body is not a response to the request",
			rpc.ErrProtocol},
		{"no Content-Type", func(w http.ResponseWriter, r *recordedRequest) {
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, answer(r))
		}, "a response without a Content-Type", rpc.ErrProtocol},
		{"nothing", respondWith(200, "", ""), "200 OK without a response", rpc.ErrProtocol},
		{"202", respondWith(202, "", ""), "202 Accepted without a response", rpc.ErrProtocol},
		{"HTML", respondWith(200, "text/html", "<html>"),
			`Content-Type "text/html" instead of application/json or text/event-stream: is this the URL of an MCP server?`,
			rpc.ErrProtocol},
		{"an error", refusing(200, -32602), "no", &rpc.Error{Code: -32602}},
		{"an error, with 404", refusing(404, -32601), "no", rpc.ErrMethodNotFound},
		{"an error, with 500", refusing(500, -32603), "no", &rpc.Error{Code: -32603}},
		{"an error, with 503", refusing(503, -32000), "no", &rpc.Error{Code: -32000}},
		{"an error without an id, with 400", func(w http.ResponseWriter, r *recordedRequest) {
			refuse(w, 400, "null", -32700, "what?")
		}, "what?", &rpc.Error{Code: -32700}},
		{"an error that is none, with 400",
			respondWith(400, "application/json", `{"jsonrpc":"2.0","id":3,"error":"no"}`),
			"400 Bad Request", rpc.ErrProtocol},
		{"401", refusing(401, -32000), "401 Unauthorized", nil},
		{"500", respondWith(500, "text/plain", "oops\n\x1b[31m\u202e"),
			`500 Internal Server Error: "oops`, rpc.ErrProtocol},
		{"a huge message", with("application/json", `"`+strings.Repeat("x", 1<<20)+`"`),
			"over the limit of 65536 (Options.Limits.MaxFrame)", framing.ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, era := range []func(http.ResponseWriter,
				*recordedRequest){modern(once(tt.answer)), withoutHandshake(once(tt.answer))} {
				inBubble(t, era, func(t *testing.T, s *testServer) {
					c := s.connect(t, client.Options{Limits: limitFrame(64 << 10)})
					answer, err := call(t, c)
					if tt.err == "" {
						assert.NilError(t, err)
						assert.Equal(t, answer, "mild")
					} else {
						assert.ErrorContains(t, err, tt.err)
						var failed *client.CallError
						assert.Assert(t, errors.As(err, &failed))
						var refused *rpc.Error
						if want, ok := tt.is.(*rpc.Error); ok {
							assert.Assert(t, errors.As(err, &refused) &&
								refused.Code == want.Code, "%v", err)
						} else if tt.is != nil {
							assert.Assert(t, errors.Is(err, tt.is), "%v", err)
						}
						assert.Assert(t, !errors.Is(err, rpc.ErrClosed) && !contains(err, "\x1b") &&
							!contains(err, "\u202e"), "%v", err)
					}
					check(t, c)
				})
			}
		})
	}
}

// once handles the first call with answer, and all others correctly.
func once(answer func(http.ResponseWriter, *recordedRequest)) func(http.ResponseWriter,
	*recordedRequest) {
	first := true
	return func(w http.ResponseWriter, r *recordedRequest) {
		if first {
			first = false
			answer(w, r)
			return
		}
		answerCall(w, r)
	}
}

// withoutHandshake is a legacy server without sessions.
func withoutHandshake(call func(http.ResponseWriter, *recordedRequest)) func(http.ResponseWriter,
	*recordedRequest) {
	other := legacy(call, nil)
	return func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "initialize" {
			answerJSON(w, r, initialized)
			return
		}
		other(w, r)
	}
}

// Messages before the response arrive before it, in order.
func TestMessagesBeforeTheResponse(t *testing.T) {
	for _, era := range []func(func(http.ResponseWriter, *recordedRequest)) func(
		http.ResponseWriter, *recordedRequest){modern, withoutHandshake} {
		proceed := make(chan int)
		inBubble(t, era(func(w http.ResponseWriter, r *recordedRequest) {
			stream := events(w, r)
			for i := 1; i <= 5; i++ {
				<-proceed
				stream.notify("notifications/message", fmt.Sprintf(`{"level":"info","data":%d}`, i))
				stream.notify("notifications/progress",
					fmt.Sprintf(`{"progressToken":1,"progress":%d}`, i))
			}
			stream.raw(": and now\n\n")
			stream.result(text)
		}), func(t *testing.T, s *testServer) {
			proceed = make(chan int, 5) // of the bubble
			proceed <- 0
			logs := make(chan string, 10)
			c := s.connect(t,
				client.Options{LogLevel: "info", OnLog: func(m mcp.LoggingMessageParams) {
					logs <- string(m.Data)
				}})
			var got []float64
			_, err := call(t, c, client.OnProgress(func(p mcp.ProgressParams) {
				got = append(got, p.Progress)
				if p.Progress < 5 {
					proceed <- 0
				}
			}))
			assert.NilError(t, err)
			assert.DeepEqual(t, got, []float64{1, 2, 3, 4, 5})
			for i := 1; i <= 5; i++ {
				assert.Equal(t, <-logs, fmt.Sprint(i))
			}
		})
	}
}

const question = `{"jsonrpc":"2.0","id":"q7","method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}`

func accept(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
}

// A legacy server sends requests on the stream of a call or on the GET stream. The response is a
// POST, even while all slots are taken.
func TestServerRequests(t *testing.T) {
	for _, onGet := range []bool{false, true} {
		asked, answered := make(chan *recordedRequest), make(chan string)
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if r.message.Method == "" && r.Method == http.MethodPost {
				answered <- r.body
			}
			legacy(func(w http.ResponseWriter, r *recordedRequest) {
				stream := events(w, r)
				if onGet {
					asked <- r
				} else {
					stream.raw("data: %s\n\n", question)
				}
				body := <-answered
				assert.Check(t, strings.Contains(body, `"id":"q7"`) &&
					strings.Contains(body, `"action":"accept"`), body)
				stream.result(text)
			}, func(w http.ResponseWriter, r *recordedRequest) {
				stream := events(w, r)
				for {
					select {
					case <-asked:
						stream.raw("data: %s\n\n", question)
					case <-r.Context().Done():
						return
					}
				}
			})(w, r)
		}, func(t *testing.T, s *testServer) {
			asked, answered = make(chan *recordedRequest), make(chan string, 1)
			s.o.MaxCalls = 1
			c := s.connect(t, client.Options{Era: mcp.Legacy, OnElicit: accept})
			check(t, c)
			check(t, c)
			assert.Equal(t, s.count("POST response session-id=s1 protocol-version=2025-11-25"), 2)
		})
	}
}

// A modern server must not send requests. Those that it sends anyway get no response.
func TestModernServerRequestsAreNotAnswered(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		stream := events(w, r)
		stream.raw("data: %s\n\n", question)
		if wait(r, time.Second) {
			stream.result(text)
		}
	}), func(t *testing.T, s *testServer) {
		check(t, s.connect(t, client.Options{OnElicit: accept}))
		assert.Equal(t, len(s.lines()), 2)
	})
}

// A stream that does not end after the response is closed after a short time.
func TestMessagesAfterTheResponse(t *testing.T) {
	for _, more := range []string{"", "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n",
		strings.Repeat(":\n", 1<<20)} {
		inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
			stream := events(w, r)
			stream.result(text)
			stream.raw("%s", more)
			stream.hold()
		}), func(t *testing.T, s *testServer) {
			s.o.MaxCalls = 1
			c := s.connect(t, client.Options{})
			began := time.Now()
			check(t, c)
			assert.Equal(t, time.Since(began), time.Duration(0))
			check(t, c)
			assert.Assert(t, time.Since(began) <= time.Second)
			assert.Equal(t, c.Stats().Unmatched, 0)
		})
	}
}

// A server that responds to a notification, or does so with a stream that does not end, delays
// nothing for long.
func TestResponsesToNotifications(t *testing.T) {
	for _, answer := range []func(http.ResponseWriter, *recordedRequest){
		func(w http.ResponseWriter, r *recordedRequest) { events(w, r).hold() },
		func(w http.ResponseWriter, _ *recordedRequest) {
			w.Header().Set("Content-Length", "9")
			w.WriteHeader(202)
		},
		respondWith(200, "application/json", "{}"), respondWith(204, "", ""),
		respondWith(400, "", ""), respondWith(404, "", ""),
	} {
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if r.message.Method == "notifications/initialized" {
				answer(w, r)
				return
			}
			withoutHandshake(answerCall)(w, r)
		}, func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			began := time.Now()
			check(t, c)
			assert.Assert(t, time.Since(began) <= time.Second)
		})
	}
}

// Defect G9 of other implementations: bodies and lines were read without a limit.
func TestResponsesAreBounded(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
			w.Header().Set("Content-Type", kind)
			for _, err := fmt.Fprint(w, "data: "); err == nil; _, err = fmt.Fprint(w, pad(4<<10)) {
			}
		}), func(t *testing.T, s *testServer) {
			_, err := call(t, s.connect(t, client.Options{Limits: limitFrame(1 << 20)}))
			assert.Assert(t, errors.Is(err, framing.ErrTooLarge), "%v", err)
		})
	}
}

// Defect G10 of other implementations: a line without a colon, which the format allows, ended the
// connection, and spaces around data were lost.
func TestEventLinesWithoutColon(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		events(w, r).raw(
			"retry\nid\nevent\nwhatever\ndata\ndata:   {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata:\"result\":%s} \ndata\n\n",
			r.message.ID, text)
	}), func(t *testing.T, s *testServer) { check(t, s.connect(t, client.Options{})) })
}
