// Package clock judges the clock of a benchmark: whether the time-stamp counter goes on
// at one rate, how fine it is, what a reading costs, and whether it agrees with the
// clock of the system. What is doubtful it says in words that belong beside the numbers.
package clock
