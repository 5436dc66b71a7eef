//go:build race

package onesided_test

const raceBuild = true
