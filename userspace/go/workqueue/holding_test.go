// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package workqueue

import (
	"testing"

	"kwq.example/kwq"
)

// N3: the token of the key at hand, of which a reconciler knows only the item and the name of its controller.
func TestDeviceToken(t *testing.T) {
	needsDevice(t)
	given, err := kwq.New(&kwq.CreateOptions{Changes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	q, err := Open[string](nil, TypedRateLimitingQueueConfig[string]{Name: "token", Options: Options[string]{Queue: given}})
	if err != nil {
		t.Fatal(err)
	}
	q.Add("without")
	if _, err := given.Restore([]*kwq.Listed{{Key: "with", State: kwq.IsReady, Token: 7}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := Token("token", "with"); ok {
		t.Error("an item that nobody has has a token")
	}
	wantItem(t, q, "without")
	wantItem(t, q, "with")
	if token, ok := Token("token", "with"); token != 7 || !ok {
		t.Errorf("token %d, %v", token, ok)
	}
	if token, ok := Token("token", "without"); token != 0 || ok {
		t.Errorf("token %d, %v of an item without", token, ok)
	}
	if held := Holding("token", "without"); held == nil || held.Ticket == 0 {
		t.Errorf("holding %v", held)
	}
	if Holding("other", "with") != nil || Holding("token", 7) != nil {
		t.Error("an item of another queue")
	}
	q.Done("with")
	if _, ok := Token("token", "with"); ok {
		t.Error("a token after the done")
	}
	q.Close()
	if Holding("token", "without") != nil {
		t.Error("an item of a closed queue")
	}
}
