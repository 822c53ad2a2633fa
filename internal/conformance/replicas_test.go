//go:build linux

package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/freeport"
)

// nginxConf sends each request to the next server, regardless of the client, and does not buffer
// streams. The second address also sends a request again whose server has not answered it. All
// requests have the token of the servers, if they want one.
const nginxConf = `daemon off;
pid %[1]s/nginx.pid;
error_log stderr emerg;
events { worker_connections 512; }
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	upstream mcp { %[2]s keepalive 32; }
	proxy_http_version 1.1;
	proxy_set_header Connection "";
	proxy_set_header Host $http_host;
	proxy_set_header Authorization "Bearer %[5]s";
	proxy_buffering off;
	proxy_read_timeout 1h;
	add_header X-Served-By $upstream_addr always;
	server {
		listen %[3]s;
		location / { proxy_pass http://mcp; }
	}
	server {
		listen %[4]s;
		location / {
			proxy_pass http://mcp;
			proxy_next_upstream error timeout non_idempotent;
		}
	}
}
`

// freeAddress returns a local address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Address()
	assert.NilError(t, err)
	return address
}

// balance starts nginx in front of servers, and returns its endpoint and the one that sends again.
func (b *bench) balance(addresses ...string) (url, resending string) {
	b.t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		b.t.Skip("nginx is not installed")
	}
	servers := ""
	for _, address := range addresses {
		servers += "server " + address + " max_fails=1 fail_timeout=1s; "
	}
	one, two := freeAddress(b.t), freeAddress(b.t)
	b.write("nginx.conf", fmt.Sprintf(nginxConf, b.dir, servers, one, two, soakToken))
	balancer := exec.Command(nginx, "-p", b.dir, "-c", b.path("nginx.conf"))
	balancer.Dir, balancer.Stderr = b.dir, os.Stderr
	assert.NilError(b.t, balancer.Start())
	b.t.Cleanup(func() {
		_ = balancer.Process.Signal(os.Interrupt)
		_ = balancer.Wait()
	})
	for _, address := range []string{one, two} {
		eventually.True(b.t, "nginx listens", func() bool {
			c, err := net.Dial("tcp", address)
			if err == nil {
				c.Close()
			}
			return err == nil
		})
	}
	return "http://" + one + "/mcp", "http://" + two + "/mcp"
}

// everythingReplicas starts servers with these variables, and returns their addresses.
func (b *bench) everythingReplicas(n int, env ...string) (servers []*exec.Cmd, addresses []string) {
	b.t.Helper()
	binary, err := everything()
	assert.NilError(b.t, err)
	for range n {
		server := exec.Command(binary, "-http", "127.0.0.1:0")
		server.Dir, server.Env = b.dir, append(b.env, env...)
		stderr, err := server.StderrPipe()
		assert.NilError(b.t, err)
		assert.NilError(b.t, server.Start())
		b.t.Cleanup(func() {
			_ = server.Process.Kill()
			_ = server.Wait()
		})
		lines := bufio.NewReader(stderr)
		line, err := lines.ReadString('\n')
		assert.NilError(b.t, err)
		go func() { _, _ = io.Copy(io.Discard, lines) }()
		servers = append(servers, server)
		addresses = append(addresses,
			strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "http://"), "/mcp"))
	}
	return servers, addresses
}

const replicaKey = "STATE_KEY=a secret of thirty-two bytes, or so"

// Three servers behind nginx, round robin without sticky sessions, that share only a key.
func TestReplicasBehindNginx(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	servers, addresses := b.everythingReplicas(3, replicaKey)
	url, _ := b.balance(addresses...)

	t.Run("a modern client is asked several times", func(t *testing.T) {
		more := ""
		for round := range 3 {
			answer := postMCP(t, url, "",
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_input_required_result_multi_round",`+
					modernMeta+more+`}}`)
			var message struct {
				Result struct {
					ResultType, RequestState string
					InputRequests            map[string]any
				}
			}
			assert.NilError(t, json.Unmarshal([]byte(answer.text), &message), answer.text)
			if round == 2 {
				assert.Equal(t, message.Result.ResultType, "complete", answer.text)
				return
			}
			for name := range message.Result.InputRequests {
				more = fmt.Sprintf(
					`,"inputResponses":{%q:{"action":"accept","content":{"name":"Ada","color":"red"}}},"requestState":%q`,
					name, message.Result.RequestState)
			}
		}
	})

	initialized := postMCP(t, url, "",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	session := initialized.session
	assert.Assert(t, session != "", initialized.text)
	t.Run("a legacy client keeps its session", func(t *testing.T) {
		for i := range 9 {
			answer := postMCP(t, url, session,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"test_simple_text"}}`,
					i+2))
			assert.Equal(t, answer.status, 200, answer.text)
			assert.Assert(t, strings.Contains(answer.text, "simple text response"), answer.text)
		}
		// A request is refused if its response could reach another server.
		answer := postMCP(t, url, session,
			`{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"test_sampling","arguments":{"prompt":"?"}}}`)
		assert.Assert(t, strings.Contains(answer.text, "does not declare the capability sampling"),
			answer.text)
	})

	t.Run("a server that is killed takes only its own calls with it", func(t *testing.T) {
		// Thirty slow calls, ten of them at the server that is about to be killed.
		const calls = 30
		var group, sent sync.WaitGroup
		var mu sync.Mutex
		sent.Add(calls)
		ctx := httptrace.WithClientTrace(t.Context(),
			&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
				sent.Done()
			}})
		good, bad := 0, 0
		for i := range calls {
			group.Go(func() {
				answer := postTraced(ctx, url, "",
					fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow_compute","arguments":{"seconds":1,"label":"x"},%s}}`,
						i, modernMeta))
				mu.Lock()
				defer mu.Unlock()
				if answer.status == 200 && strings.Contains(answer.text, "done after") {
					good++
				} else {
					bad++
				}
			})
		}
		sent.Wait() // all calls have been sent, and none has ended
		assert.NilError(t, servers[0].Process.Kill())
		group.Wait()
		t.Logf("%d calls answered, %d lost", good, bad)
		assert.Assert(t, good >= calls*2/3-1 && bad <= calls/3+1, "%d answered, %d lost", good, bad)
		for i := range 12 {
			// later requests are not affected: neither those of modern clients nor those of the
			// session that the killed server may have opened
			answer := postMCP(t, url, "",
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"test_simple_text",%s}}`,
					i, modernMeta))
			assert.Equal(t, answer.status, 200, answer.text)
			answer = postMCP(t, url, session,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, 100+i))
			assert.Equal(t, answer.status, 200, answer.text)
		}
	})
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// An answered is the response to a POST.
type answered struct {
	status        int
	session, text string
}

// postMCP posts one message with the required headers, and returns the response: JSON, or the last
// event of a stream.
func postMCP(t *testing.T, url, session, message string) answered {
	return postTraced(t.Context(), url, session, message)
}

func postTraced(ctx context.Context, url, session, message string) answered {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		return answered{text: err.Error()}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if strings.Contains(message, modernMeta) {
		var m struct {
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal([]byte(message), &m)
		r.Header.Set("MCP-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", m.Method)
		r.Header.Set("Mcp-Name", m.Params.Name)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return answered{text: err.Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answered{text: err.Error()}
	}
	if _, last, ok := bytes.Cut(text, []byte("data: {")); ok {
		text = append([]byte("{"), bytes.TrimSpace(last)...)
	}
	return answered{response.StatusCode, response.Header.Get("Mcp-Session-Id"), string(text)}
}
