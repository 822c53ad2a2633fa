//go:build unix

package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
)

// marker as the only argument makes a guard of this program.
const marker = "__guard"

// The files of a guard besides stdin, stdout and stderr, which are the null device. The last is open only if there is a directory.
const (
	controlFile = iota + 3 // to the guard: an order, then numbers of signals, one a line; its end means to kill everything
	statusFile             // from the guard: "started PID" or "failed ERRNO STAGE", then "exited CODE" or "killed SIGNAL"
	stdinFile
	stdoutFile
	stderrFile
	dirFile
)

// Stages at which a guard can fail. An index goes over the pipe.
var stages = [...]string{
	"%w",
	"the working directory cannot be entered: %w",
	"the file exists, the interpreter or loader it names does not: %w",
	"its descendants could get away: mount a /proc for this namespace of processes, and allow prctl: %w",
}

const (
	stageProgram = iota
	stageDir
	stageInterpreter
	stageAdopt
)

// order is what a guard is to do. It goes over a pipe, as a guard that had the command's environment would heed GODEBUG, GOMAXPROCS and the like in it.
type order struct {
	parent int // the program
	dir    bool
	path   string
	args   []string // with the name
	env    []string
}

const orderLimit = 8 << 20 // more than Linux takes for arguments and environment

// encode makes a message of the order: its length, and strings that end with NUL.
func (o order) encode() ([]byte, error) {
	var body strings.Builder
	fmt.Fprintf(&body, "%d\x00%t\x00%s\x00%d\x00", o.parent, o.dir, o.path, len(o.args))
	nuls := 4
	for _, list := range [][]string{o.args, o.env} {
		for _, s := range list {
			body.WriteString(s)
			body.WriteByte(0)
			nuls++
		}
	}
	if strings.Count(body.String(), "\x00") != nuls {
		return nil, fmt.Errorf("the name, an argument or the environment contains a NUL byte: %w", syscall.EINVAL)
	}
	if body.Len() > orderLimit {
		return nil, fmt.Errorf("arguments and environment of %d bytes: %w", body.Len(), syscall.E2BIG)
	}
	return fmt.Appendf(nil, "%d\n%s", body.Len(), body.String()), nil
}

// readOrder reads a whole message or fails; half an order is none.
func readOrder(r *bufio.Reader) (o order, err error) {
	var size int
	if _, err := fmt.Fscanf(r, "%d\n", &size); err != nil {
		return o, err
	}
	if size < 1 || size > orderLimit {
		return o, fmt.Errorf("order of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return o, err
	}
	fields := strings.Split(strings.TrimSuffix(string(body), "\x00"), "\x00")
	if len(fields) < 4 {
		return o, errors.New("order too short")
	}
	parent, err1 := strconv.Atoi(fields[0])
	dir, err2 := strconv.ParseBool(fields[1])
	count, err3 := strconv.Atoi(fields[3])
	if err := errors.Join(err1, err2, err3); err != nil {
		return o, err
	}
	path, rest := fields[2], fields[4:]
	if count < 1 || count > len(rest) {
		return o, fmt.Errorf("order of %d arguments, %d given", count, len(rest))
	}
	return order{parent: parent, dir: dir, path: path, args: rest[:count], env: rest[count:]}, nil
}
