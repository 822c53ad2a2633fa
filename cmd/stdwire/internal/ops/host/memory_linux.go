package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// maxProcesses is the maximum number of processes counted for one server.
const maxProcesses = 256

// Memory returns the resident memory of a process and its descendants in bytes, as far as it is
// known. Descendants count because launchers such as npx use little memory themselves. Shared pages
// count once for each process.
func Memory(pid int) (bytes int64) {
	pids := []int{pid}
	for i := 0; i < len(pids) && i < maxProcesses; i++ {
		statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pids[i]))
		if fields := strings.Fields(string(statm)); err == nil && len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			bytes += pages * int64(os.Getpagesize())
		}
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pids[i]))
		for _, task := range tasks {
			children, _ := os.ReadFile(
				fmt.Sprintf("/proc/%d/task/%s/children", pids[i], task.Name()))
			for _, child := range strings.Fields(string(children)) {
				if n, err := strconv.Atoi(child); err == nil {
					pids = append(pids, n)
				}
			}
		}
	}
	return bytes
}
