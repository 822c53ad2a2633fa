package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/stdwire/stdwire/rpc"
)

// Open returns the stream that the arguments of a language server name (LSP 3.17, "Implementation
// Considerations"). An editor passes one of these:
//
//	--stdio          standard input and output, as by [rpc.Stdio]
//	--pipe=NAME      the Unix socket or, on Windows, the named pipe on which the editor listens
//	--socket=PORT    the TCP port of 127.0.0.1 on which the editor listens; also --port=PORT
//
// NAME and PORT may also be the next argument. Open ignores all other arguments, which are those of
// the server. It fails if args name no stream or several, or contain --node-ipc, which only Node.js
// supports. If ctx ends first, it stops connecting.
func Open(ctx context.Context, args []string) (io.ReadWriteCloser, error) {
	transport, address, err := parseArgs(args)
	if err != nil {
		return nil, fmt.Errorf("lsp: %w", err)
	}
	var stream io.ReadWriteCloser
	switch transport {
	case "stdio":
		return rpc.Stdio(), nil
	case "pipe":
		stream, err = dialPipe(ctx, address)
	case "socket":
		var d net.Dialer
		stream, err = d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", address))
	}
	if err != nil {
		return nil, fmt.Errorf("lsp: connecting to the editor: %w", err)
	}
	return stream, nil
}

var errTransport = errors.New("the arguments must contain --stdio, --pipe=NAME or --socket=PORT")

// parseArgs returns "stdio", "pipe" or "socket", and the NAME or the PORT.
func parseArgs(args []string) (transport, address string, err error) {
	for i, arg := range args {
		option, value, _ := strings.Cut(arg, "=")
		switch option {
		case "--node-ipc":
			return "", "", fmt.Errorf("--node-ipc is for servers in Node.js; %w", errTransport)
		case "--stdio", "--pipe", "--socket":
			if transport != "" {
				return "", "", fmt.Errorf("both --%s and %s; only one is allowed", transport, option)
			}
			transport = option[2:]
		case "--port":
			if transport != "" && transport != "socket" {
				return "", "", fmt.Errorf("both --%s and %s; only one is allowed", transport, option)
			}
			transport = "socket"
		default:
			continue
		}
		if value == "" && option != "--stdio" && i+1 < len(args) &&
			!strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
		if value != "" {
			address = value
		}
	}
	switch {
	case transport == "":
		return "", "", errTransport
	case transport == "pipe" && address == "":
		return "", "", errors.New("--pipe has no NAME")
	case transport == "socket" && address == "":
		return "", "", errors.New("--socket has no PORT")
	}
	return transport, address, nil
}
