// Command replicaclient is a legacy client built on another Go library, for the test of
// internal/conformance that has replicas fail. It calls a gateway, whatever fails, until its
// standard input ends. It writes a line with "connected" when it has a session and has subscribed,
// with "changed" when the list of tools changes, and with "updated" when the resource does. The
// last line is what it saw, as JSON.
//
//	replicaclient LIBRARY URL NAME
//
// NAME begins the tokens of its calls.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"sync"
	"time"
)

// revision is that of all connections, and resource what they subscribe to.
const (
	revision = "2025-11-25"
	resource = "counter:///changes"
)

// A connection is a session of a client that has subscribed to the resource.
type connection struct {
	call func(ctx context.Context, tool, token string) (text string, err error)
	lost <-chan struct{} // closed if the library has given the session up
}

// connects has the libraries. The functions call heard with the lines about changes, and asked
// with each question, which has the message as its answer.
var connects = map[string]func(ctx context.Context, c *http.Client, url string,
	heard func(line string), asked func()) (*connection, error){
	"go-sdk": connectGoSDK,
	"mcp-go": connectMCPGo,
}

// seen is what the program saw, and a transport that counts responses.
type seen struct {
	mu        sync.Mutex
	Statuses  map[string]int `json:"statuses"`
	Counted   []string       `json:"counted"` // tokens of calls that have succeeded
	Asked     []string       `json:"asked"`
	Questions int            `json:"questions"`
	Wrong     []string       `json:"wrong"`
	Failed    map[string]int `json:"failed"`
	Sessions  int            `json:"sessions"`
}

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Statuses[fmt.Sprint(r.Method, " ", response.StatusCode)]++
	}
	return response, err
}

var digits = regexp.MustCompile(`\d+`)

func (s *seen) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := digits.ReplaceAllString(err.Error(), "N")
	s.Failed[text[:min(len(text), 120)]]++
}

func main() {
	connect, url, name := connects[os.Args[1]], os.Args[2], os.Args[3]
	ctx, end := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	s := &seen{Statuses: map[string]int{}, Failed: map[string]int{}}
	s.use(ctx, name, func() (*connection, error) {
		return connect(ctx, &http.Client{Transport: s}, url, func(line string) {
			s.mu.Lock() // so that nothing follows what is seen
			defer s.mu.Unlock()
			fmt.Println(line)
		}, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.Questions++
		})
	})
	s.mu.Lock() // for good: sessions go on until the process ends
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// use calls until ctx is done, and connects again when the session is lost.
func (s *seen) use(ctx context.Context, name string, connect func() (*connection, error)) {
	var c *connection
	for n := 0; ctx.Err() == nil; n++ {
		if c == nil {
			var err error
			if c, err = connect(); err != nil {
				c = nil
				s.fails(err)
				pause(ctx, 200*time.Millisecond)
				continue
			}
			s.mu.Lock()
			s.Sessions++
			s.mu.Unlock()
			fmt.Println("connected")
		}
		token, tool := fmt.Sprint(name, "-", n), "count"
		if n%3 == 2 {
			tool = "ask"
		}
		callCtx, cancel := context.WithTimeout(ctx, 10*time.Second)
		text, err := c.call(callCtx, "up__"+tool, token)
		cancel()
		if err != nil {
			select {
			case <-c.lost:
				c = nil
			default:
			}
			if ctx.Err() == nil {
				s.fails(err)
			}
			pause(ctx, 200*time.Millisecond)
			continue
		}
		s.succeeds(tool, token, text)
		pause(ctx, 30*time.Millisecond)
	}
}

func (s *seen) succeeds(tool, token, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != tool+" "+token {
		s.Wrong = append(s.Wrong, text)
	}
	if tool == "ask" {
		s.Asked = append(s.Asked, token)
	} else {
		s.Counted = append(s.Counted, token)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
