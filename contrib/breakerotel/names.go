package breakerotel

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// naming says what instruments and attributes are called.
type naming struct{ prometheus bool }

// prometheusNames are the instruments whose names with PrometheusNames are not
// the usual ones with underscores for dots. No units are given with them: what
// a translation to Prometheus appends for a unit is in the name already.
var prometheusNames = map[string]string{
	"state_age":        "state_changed_timestamp_seconds",
	"outage_age":       "outage_started_timestamp_seconds",
	"last_outcome_age": "last_outcome_timestamp_seconds",
	"last_refusal_age": "last_refusal_timestamp_seconds",
	"retry_after":      "retry_after_seconds",
	"openings":         "opened",
	"open_time":        "open_seconds",
	"probes.window":    "probe_window",
	"probes.unprobed":  "unprobed",
	"probe.duration":   "probe_duration_seconds",
	"lease.waiting":    "lease_waiting_seconds",
	"latency.usual":    "latency_usual_seconds",
	"latency.high":     "latency_high_seconds",
	"latency.deadline": "latency_deadline_seconds",
}

func (n naming) instrument(name string) string {
	if !n.prometheus {
		return prefix + name
	}
	if other, ok := prometheusNames[name]; ok {
		name = other
	}
	return "circuitbreaker_" + strings.ReplaceAll(name, ".", "_")
}

func (n naming) unit(unit string) string {
	if n.prometheus {
		return ""
	}
	return unit
}

// key is the key of an attribute.
func (n naming) key(k attribute.Key) attribute.Key {
	if !n.prometheus {
		return k
	}
	return attribute.Key(strings.TrimSuffix(strings.TrimPrefix(string(k), prefix), "_state"))
}
