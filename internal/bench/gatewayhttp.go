package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"time"

	"github.com/stdwire/stdwire/internal/freeport"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// proxyVariable is the environment variable with the path of TBXark's mcp-proxy, built from source.
// If it is not set, mcp-proxy is not measured.
const proxyVariable = "STDWIRE_BENCH_MCP_PROXY"

const (
	gatewayLegacy = "gateway, HTTP, 64 B, 32 connections, legacy clients"
	gatewayModern = "gateway, HTTP, 64 B, 32 connections, modern clients"
)

// gatewayHTTPBudgets returns the budgets for the programs that are measured.
func gatewayHTTPBudgets() []budget {
	if os.Getenv(proxyVariable) == "" {
		return nil
	}
	return []budget{{gatewayLegacy, "mcp-proxy", 5}}
}

// A gatewayServer is a gateway over HTTP that starts a legacy server over stdio.
type gatewayServer struct {
	*listeningProcess
	path, tool string
}

// startGatewayServer starts a gateway, and waits until it accepts connections.
func startGatewayServer(cmd *exec.Cmd, address, path, tool string) (*gatewayServer, error) {
	said := new(bytes.Buffer)
	cmd.Stderr = said
	p, err := startCommand(cmd)
	if err != nil {
		return nil, err
	}
	f := &gatewayServer{&listeningProcess{p, address}, path, tool}
	for deadline := time.Now().Add(responseTimeout); ; time.Sleep(10 * time.Millisecond) {
		clients, err := dialAll(address, 1, f.open)
		closeAll(clients)
		if err == nil {
			return f, nil
		}
		if time.Now().After(deadline) {
			f.stop()
			return nil, fmt.Errorf("%s does not answer: %w: %s", cmd.Path, err, said)
		}
	}
}

// stop interrupts the gateway and waits until it exits.
func (f *gatewayServer) stop() {
	_ = f.cmd.Process.Signal(os.Interrupt)
	f.listeningProcess.stop()
}

func (f *gatewayServer) post(head, body string) []byte {
	return fmt.Appendf(nil,
		"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s",
		f.path, f.address, head, len(body), body)
}

// open initializes a connection, and prepares the request for calls.
func (f *gatewayServer) open(c *httpClient) error {
	answer, err := c.exchange(f.post("", initializeFrame))
	if err != nil {
		return err
	}
	head := "Mcp-Protocol-Version: 2025-11-25\r\n"
	const sessionIs = "\r\nMcp-Session-Id: "
	if _, rest, ok := bytes.Cut(answer, []byte(sessionIs)); ok {
		id, _, _ := bytes.Cut(rest, []byte("\r\n"))
		head += fmt.Sprintf("Mcp-Session-Id: %s\r\n", id)
	}
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("the gateway says %.300s", answer)
	}
	if answer, err = c.exchange(f.post(head, initializedFrame)); err != nil ||
		!bytes.HasPrefix(answer, []byte("HTTP/1.1 20")) {
		return fmt.Errorf("the gateway says %.300s: %w", answer, err)
	}
	c.call = f.post(head, string(callFrame(f.tool, 1, string(httpEcho))))
	return nil
}

// result returns the result of one call.
func (f *gatewayServer) result() (result any, err error) {
	clients, err := dialAll(f.address, 1, f.open)
	defer closeAll(clients)
	if err != nil {
		return nil, err
	}
	answer, err := clients[0].exchange(clients[0].call)
	if err != nil {
		return nil, err
	}
	_, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	return result, json.Unmarshal(jsonscan.Member(body, "result"), &result)
}

// startOverHTTP starts the gateway over HTTP.
func (g *gatewayBinary) startOverHTTP() (*gatewayServer, error) {
	words, err := echoServerCommand("legacy")
	if err != nil {
		return nil, err
	}
	config, err := g.configure(map[string][]string{"up": words})
	if err != nil {
		return nil, err
	}
	address, err := freeport.Address()
	if err != nil {
		return nil, err
	}
	return startGatewayServer(g.command(config, "--http", address, "--no-auth"), address, "/mcp",
		"up__echo")
}

// startMCPProxy starts mcp-proxy.
func (g *gatewayBinary) startMCPProxy(binary string) (*gatewayServer, error) {
	words, err := echoServerCommand("legacy")
	if err != nil {
		return nil, err
	}
	address, err := freeport.Address()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{
		"mcpProxy": map[string]any{"baseURL": "http://" + address, "addr": address,
			"name": "proxy", "version": "1", "type": "streamable-http"},
		"mcpServers": map[string]any{"up": map[string]any{"command": words[0], "args": words[1:]}},
	})
	if err != nil {
		return nil, err
	}
	config := filepath.Join(g.dir, "proxy.json")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return nil, err
	}
	return startGatewayServer(exec.Command(binary, "-config", config), address, "/up/", "echo")
}

// gatewayHTTPSuite measures calls over HTTP through gateways to a legacy server over stdio.
func gatewayHTTPSuite(o options) (all []measure, err error) {
	g, err := buildGateway()
	if err != nil {
		return nil, err
	}
	defer g.remove()
	add := func(what, program string, f *gatewayServer, open func(*httpClient) error) error {
		r, err := f.runClients(32, o.time, open)
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		all = append(all,
			measure{what, program, r.rate(), "calls/s", true,
				fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, %.1f µs CPU a call, RSS %.0f MiB",
					milliseconds(r.quantile(0.5)), milliseconds(r.quantile(0.99)), r.cpuPerCall(),
					r.lateRSS)})
		return nil
	}
	ours, err := g.startOverHTTP()
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	if err := add(gatewayLegacy, "stdwire", ours, ours.open); err != nil {
		return nil, err
	}
	params := fmt.Sprintf(`"name":"up__echo","arguments":{"text":"%s"},`, httpEcho)
	if err := add(gatewayModern, "stdwire", ours, func(c *httpClient) error {
		c.call = httpRequest(ours.address, "tools/call", "up__echo", params)
		return nil
	}); err != nil {
		return nil, err
	}
	if !o.measures("net/http") {
		return all, nil
	}
	// the cost of HTTP alone, with a handler in the server process
	floor, err := startHTTP("net/http", "")
	if err != nil {
		return nil, err
	}
	defer floor.stop()
	if err := add(gatewayLegacy, "net/http", &gatewayServer{floor, "", ""},
		floor.open); err != nil {
		return nil, err
	}
	binary := os.Getenv(proxyVariable)
	if binary == "" {
		fmt.Fprintf(os.Stderr, "bench: %s is not set: mcp-proxy is not measured\n", proxyVariable)
		return all, nil
	}
	theirs, err := g.startMCPProxy(binary)
	if err != nil {
		return nil, err
	}
	defer theirs.stop()
	got, err1 := ours.result()
	want, err2 := theirs.result()
	if err := errors.Join(err1, err2); err != nil || !reflect.DeepEqual(got, want) {
		return nil, fmt.Errorf("the result of a call is %v, and %v through mcp-proxy: %w", got,
			want, err)
	}
	return all, add(gatewayLegacy, "mcp-proxy", theirs, theirs.open)
}
