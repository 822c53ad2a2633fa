package rates

import (
	"fmt"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// retryPlace is when a call may try again for which no place was free. It is a guess.
const retryPlace = time.Second

// refusalDetails are the details of a refusal, which end up in the data of its error.
type refusalDetails struct {
	RefusedBy  string `json:"refused_by"`
	Rate       string `json:"rate,omitempty"`
	RetryAfter int64  `json:"retryAfterMs"`
	Resets     string `json:"resetsAt,omitempty"` // of a quota of a day
}

// refuse counts the refusal of a call that may be made after a wait, and returns its error. Models
// get only the text of an error, so that says when to try again.
func (r *Rates) refuse(by limited, u *use, wait time.Duration) error {
	details := refusalDetails{RefusedBy: "rate",
		RetryAfter: int64((wait + time.Millisecond - 1) / time.Millisecond)}
	again := "try again in " + waitText(wait)
	if by.row == nil {
		r.paused.Add(1)
		r.refusals.Add(1, pauseName)
		return dispatch.Errorf(dispatch.TooManyRequests,
			"the server %q has asked for a pause; %s", u.server, again).With(details)
	}
	w := by.row
	w.refused.Add(1)
	r.refusals.Add(1, w.Name)
	details.Rate = w.Name
	text := ""
	switch by.kind {
	case dayLimit:
		details.Resets = time.Now().Add(wait).UTC().Round(time.Second).Format(time.RFC3339)
		text = fmt.Sprintf("the quota %q of %d a day is used up; %s, at %s", w.Name, w.Day, again,
			details.Resets)
	case storeFailure:
		text = fmt.Sprintf("%q cannot be counted now, because the store that it is in does not "+
			"answer; %s", w.Name, again)
	case placeLimit:
		text = fmt.Sprintf("%q allows %d calls at a time, and none of them has ended in time; %s",
			w.Name, w.Concurrent, again)
	default:
		text = fmt.Sprintf("the rate limit %q of %s is reached; %s", w.Name, w.rateText(), again)
	}
	return dispatch.Errorf(dispatch.TooManyRequests, "%s", text).With(details)
}

// rateText returns the rate as in the configuration.
func (w *row) rateText() string {
	unit := map[time.Duration]string{time.Second: "s", time.Minute: "min", time.Hour: "h",
		24 * time.Hour: "day"}[w.Every]
	return fmt.Sprintf("%d/%s", w.Count, unit)
}

// limitText says what the row allows.
func (w *row) limitText() string {
	text := ""
	say := func(when bool, format string, args ...any) {
		if when && text != "" {
			text += ", "
		}
		if when {
			text += fmt.Sprintf(format, args...)
		}
	}
	say(w.Count > 0, "%s", w.rateText())
	say(w.Day > 0, "%d a day", w.Day)
	say(w.Concurrent > 0, "%d at a time", w.Concurrent)
	return text
}

// waitText returns a duration in words that are short, rounded up.
func waitText(d time.Duration) string {
	up := func(unit time.Duration) int64 { return int64((d + unit - 1) / unit) }
	switch {
	case up(time.Second) < 120:
		return fmt.Sprintf("%d s", max(1, up(time.Second)))
	case up(time.Minute) < 120:
		return fmt.Sprintf("%d min", up(time.Minute))
	}
	minutes := up(time.Minute)
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}
