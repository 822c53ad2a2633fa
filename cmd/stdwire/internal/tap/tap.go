// Package tap records what two peers of JSON-RPC say to each other, and reads, counts, compares and replays what was recorded. It knows nothing of processes and files: streams go in and
// lines come out.
//
//	recorder := tap.Options{To: file, MaxSize: 1 << 30}.Start()
//	go recorder.Client.Copy(serverStdin, os.Stdin)
//	recorder.Server.Copy(os.Stdout, serverStdout)
//	complete := recorder.Close(status)
//
// # Transparency
//
// What [Side.Copy] reads it writes, every byte as it came and at once: nothing waits for the end of a frame, and what is no frame passes like everything else. What it saw is handed to the
// recorder before it is written, so that a request is always recorded before its answer; but never waited for: what the recorder is too slow for is dropped and counted.
//
// # A recording
//
// is lines of JSON, each a [Record]: one of the kind "start", then one for each frame, in the order in which they passed, and notes on what was dropped ("dropped"), on the end of the
// recording because of its size ("full") and on the end of everything ("end"). A frame that is JSON on one line stands there as the member "frame", byte for byte; any other as
// "text", or as "bytes" in base64 if it is not UTF-8.
package tap

// A Direction says who wrote a frame.
type Direction string

const (
	FromClient Direction = "client"
	FromServer Direction = "server"
)

// Other is the other side.
func (d Direction) Other() Direction {
	if d == FromClient {
		return FromServer
	}
	return FromClient
}

// MaxFrame is how many bytes of a frame are kept. Of a larger one the first so many are, with its size and SHA-256.
const MaxFrame = 8 << 20

// bounds are those of a recorder's memory.
type bounds struct {
	frame   int   // bytes that are kept of one
	queued  int64 // bytes of frames that wait
	waiting int   // frames that do
}

// usual is what tests make smaller.
var usual = bounds{MaxFrame, 4 * MaxFrame, 4096}
