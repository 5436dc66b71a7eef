// Package sample has a test for each way in which tests end.
package sample

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	_ "github.com/remora-kv/remora/test/scale"
)

func TestMain(m *testing.M) {
	if os.Getenv("SAMPLE_CHILD") != "" {
		fmt.Println("ready")
		childThatWaits()
	}
	os.Exit(m.Run())
}

func childThatWaits() { time.Sleep(time.Hour) }

func TestGood(t *testing.T) { t.Log("a word") }

func TestSkipped(t *testing.T) { t.Skip("for a reason") }

func TestBad(t *testing.T) {
	t.Run("case", func(t *testing.T) { t.Error("seed 0x2a: wrong") })
}

func TestExit(t *testing.T) { os.Exit(3) }

func TestHang(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "SAMPLE_CHILD=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	if _, err := out.Read(buf); err != nil {
		t.Fatal(err)
	}
	testThatWaits()
}

func testThatWaits() { time.Sleep(time.Hour) }
