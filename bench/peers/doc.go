// Package peers measures the breakers of package rival side by side: their cost,
// their tails, their memory and their behaviour under stress. What reports on it
// is in cmd/report.
//
// It is not for use in a program: it protects nothing.
package peers
