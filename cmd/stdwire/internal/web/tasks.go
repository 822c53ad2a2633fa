package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	taskTimeout = 30 * time.Second // of a request about a task
	maxTasks    = 1000             // listed tasks of a server
)

// A taskList is the list of a server's tasks. A server of the modern era has no such list: the page
// then shows the tasks of calls, and those whose ids the user enters.
type taskList struct {
	Listed bool       `json:"listed"` // by the server
	More   bool       `json:"more,omitempty"`
	Tasks  []mcp.Task `json:"tasks"`
}

// tasks lists the tasks of a server.
func (s *servers) tasks(ctx context.Context, id string) (*taskList, error) {
	all := &taskList{Tasks: []mcp.Task{}}
	err := s.use(ctx, id, func(_ *server, c *client.Client) error {
		for task, err := range c.Tasks(ctx, client.Timeout(taskTimeout)) {
			switch {
			case errors.Is(err, client.ErrUndeclared):
				return nil
			case err != nil:
				return err
			case len(all.Tasks) == maxTasks:
				all.More = true
				return nil
			}
			all.Tasks = append(all.Tasks, task.State())
		}
		all.Listed = true
		return nil
	})
	return all, err
}

// task returns a task as the server writes it. If cancel is set, task first asks the server to
// cancel it.
func (s *servers) task(ctx context.Context, id, task string, cancel bool) (now json.RawMessage,
	err error) {
	if task == "" {
		return nil, command.BadArgs("the id of the task is missing")
	}
	err = s.use(ctx, id, func(_ *server, c *client.Client) (err error) {
		if cancel {
			if err := c.Task(task).Cancel(ctx, client.Timeout(taskTimeout)); err != nil {
				return err
			}
		}
		now, err = c.Call(ctx, mcp.MethodGetTask, mcp.TaskParams{TaskID: task},
			client.Timeout(taskTimeout))
		return err
	})
	return now, err
}

// taskRoutes adds the routes of tasks. The page waits for a task by a call; see [calls.send].
func (s *servers) taskRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/servers/{id}/tasks", func(w http.ResponseWriter, r *http.Request) {
		if all, err := s.tasks(r.Context(), r.PathValue("id")); err != nil {
			reply.Fail(w, err)
		} else {
			reply.JSON(w, all)
		}
	})
	post(mux, "/api/servers/{id}/tasks", func(r *http.Request, in struct {
		Task   string
		Cancel bool
	}) (any, error) {
		return s.task(r.Context(), r.PathValue("id"), in.Task, in.Cancel)
	})
}
