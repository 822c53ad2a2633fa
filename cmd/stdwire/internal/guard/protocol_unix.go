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

// guardArg as the only argument makes this program a guard.
const guardArg = "__guard"

// The files of a guard besides stdin, stdout and stderr, which are the null device.
const (
	// controlFile takes a request, then numbers of signals, one a line. At its end, the guard kills
	// everything.
	controlFile = iota + 3
	// statusFile takes "started PID" or "failed ERRNO STAGE", then, if the request lingers,
	// "ended", then "exited CODE" or "killed SIGNAL".
	statusFile
	stdinFile
	stdoutFile
	stderrFile
	dirFile // open if the request has a directory
)

// The stages at which a guard can fail. A failure has the number of its stage on statusFile.
const (
	stageProgram = iota
	stageDir
	stageInterpreter
	stageSubreaper
)

// stages are the formats of the errors, by stage.
var stages = [...]string{
	stageProgram:     "%w",
	stageDir:         "the working directory cannot be entered: %w",
	stageInterpreter: "the file exists, the interpreter or loader it names does not: %w",
	stageSubreaper: "its descendants could not be killed: " +
		"mount the /proc of this PID namespace, and allow prctl: %w",
}

// request tells a guard what to start. It is sent over a pipe, because a guard with the command's
// environment would act on GODEBUG, GOMAXPROCS and other variables in it.
type request struct {
	parent int // the process id of the program
	dir    bool
	// lingers is set for servers. The guard reports the end of the command, and kills what is left
	// when the program has read its output and closed control. If the program dies, the command,
	// whose stdin ends then, gets time to end by itself.
	lingers bool
	path    string
	args    []string // with the name
	env     []string
}

const requestLimit = 8 << 20 // more than Linux takes for arguments and environment

// encode returns the request as a message: its length, and strings that end with NUL.
func (r request) encode() ([]byte, error) {
	var body strings.Builder
	fmt.Fprintf(&body, "%d\x00%t\x00%t\x00%s\x00%d\x00", r.parent, r.dir, r.lingers, r.path,
		len(r.args))
	nuls := 5
	for _, list := range [][]string{r.args, r.env} {
		for _, s := range list {
			body.WriteString(s)
			body.WriteByte(0)
			nuls++
		}
	}
	if strings.Count(body.String(), "\x00") != nuls {
		return nil, fmt.Errorf("the name, an argument or the environment contains a NUL byte: %w",
			syscall.EINVAL)
	}
	if body.Len() > requestLimit {
		return nil, fmt.Errorf("arguments and environment of %d bytes: %w", body.Len(),
			syscall.E2BIG)
	}
	return fmt.Appendf(nil, "%d\n%s", body.Len(), body.String()), nil
}

// readRequest reads a whole message.
func readRequest(control *bufio.Reader) (r request, err error) {
	var size int
	if _, err := fmt.Fscanf(control, "%d\n", &size); err != nil {
		return r, err
	}
	if size < 1 || size > requestLimit {
		return r, fmt.Errorf("request of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(control, body); err != nil {
		return r, err
	}
	fields := strings.Split(strings.TrimSuffix(string(body), "\x00"), "\x00")
	if len(fields) < 5 {
		return r, errors.New("request too short")
	}
	parent, err1 := strconv.Atoi(fields[0])
	dir, err2 := strconv.ParseBool(fields[1])
	lingers, err3 := strconv.ParseBool(fields[2])
	count, err4 := strconv.Atoi(fields[4])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return r, err
	}
	path, rest := fields[3], fields[5:]
	if count < 1 || count > len(rest) {
		return r, fmt.Errorf("request with %d arguments, %d given", count, len(rest))
	}
	return request{parent: parent, dir: dir, lingers: lingers, path: path, args: rest[:count],
		env: rest[count:]}, nil
}
