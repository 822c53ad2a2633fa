// Package tracker is one issue tracker as an MCP server, written with stdwire and with go-sdk, to
// compare what an application has to write. The test runs the same calls against both.
package tracker

import (
	"fmt"
	"strings"
	"sync"
)

// A Status is the state of an issue.
type Status string

// An Issue is an issue of the tracker.
type Issue struct {
	ID       int      `json:"id"`
	Title    string   `json:"title"`
	Status   Status   `json:"status"`
	Comments []string `json:"comments,omitempty"`
}

// A Store holds issues. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	issues []Issue
}

// Create adds an open issue.
func (s *Store) Create(title string) Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	issue := Issue{ID: len(s.issues) + 1, Title: title, Status: "open"}
	s.issues = append(s.issues, issue)
	return issue
}

// List returns the issues with a status, or all with "".
func (s *Store) List(status Status) []Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []Issue{}
	for _, issue := range s.issues {
		if status == "" || issue.Status == status {
			found = append(found, issue)
		}
	}
	return found
}

// Edit changes an issue and returns it; false if there is no such issue.
func (s *Store) Edit(id int, change func(*Issue)) (Issue, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id < 1 || id > len(s.issues) {
		return Issue{}, false
	}
	change(&s.issues[id-1])
	return s.issues[id-1], true
}

// Titles returns the titles that begin with a text.
func (s *Store) Titles(prefix string) (titles []string) {
	for _, issue := range s.List("") {
		if strings.HasPrefix(issue.Title, prefix) {
			titles = append(titles, issue.Title)
		}
	}
	return titles
}

// Text returns an issue in a form for people.
func (i Issue) Text() string {
	return fmt.Sprintf("#%d %s (%s)\n%s", i.ID, i.Title, i.Status, strings.Join(i.Comments, "\n"))
}
