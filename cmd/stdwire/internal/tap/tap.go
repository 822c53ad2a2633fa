// Package tap records the traffic between two JSON-RPC peers, and reads, counts, compares, replays,
// serves and converts recordings. It works on streams, not on processes and files.
//
//	recorder := tap.Options{To: file, MaxSize: 1 << 30}.Start()
//	go recorder.Client.Copy(serverStdin, os.Stdin)
//	recorder.Server.Copy(os.Stdout, serverStdout)
//	complete := recorder.Close(status, time.Minute)
//
// # Transparency
//
// [Side.Copy] writes each chunk that it reads at once and unchanged: it does not wait for the end
// of a frame, and also passes bytes that are not a frame. It passes a chunk to the recorder before
// it writes it, so that a request is always recorded before its response. It never waits for the
// recorder: if the recorder is too slow, frames are dropped and counted.
//
// # Format of a recording
//
// A recording consists of lines of JSON, each a [Record]: one of the kind "start", then one for
// each frame in the order of the traffic, and notes: "dropped" for dropped frames, "full" when the
// recording has reached its maximum size, and "end". A frame that is JSON on one line is the value
// of the member "frame", byte for byte; another frame is a string in "text", or base64 in "bytes"
// if it is not UTF-8.
package tap

// A Direction is the side that wrote a frame.
type Direction string

const (
	FromClient Direction = "client"
	FromServer Direction = "server"
)

// Other returns the other side.
func (d Direction) Other() Direction {
	if d == FromClient {
		return FromServer
	}
	return FromClient
}

// MaxFrame is the maximum number of bytes kept of a frame. A larger frame is truncated, and its
// record has its size and SHA-256.
const MaxFrame = 8 << 20

// limits bound the memory of a recorder.
type limits struct {
	frame       int   // bytes kept of a frame
	queueBytes  int64 // bytes of the frames in the queue
	queueLength int   // frames in the queue
}

var defaultLimits = limits{MaxFrame, 4 * MaxFrame, 4096}
