;;; bridle-unit-test.el --- The reader, frames, sessions, text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; No daemon here but the one that the test plays.

;;; Code:

(require 'bridle-test-helper)

;;;; The reader

(ert-deftest bridle-unit-reads ()
  (pcase-dolist (`(,text ,form)
                 '(("(a . b)" (a . b)) ("(1 -7 42. 1.5 1e3)" (1 -7 42 1.5 1000.0))
                   ("(nil NIL t T)" (nil nil t t)) ("[1 [2]]" [1 [2]])
                   ("\"a\\n\\\"\\\\\"" "a\n\"\\") ("\"\\u00e9 é\"" "é é")
                   ("#(\"text\" 0 4 (face bold))" "text") ("#(1 2)" [1 2])
                   ("('x)" ('x)) ("?a" ?a) (" ( ) " nil) ("(:a (b c) . d)" (:a (b c) . d))
                   ("\"\"" "") ("(\"x\"\"y\")" ("x" "y"))))
    (should (equal form (bridle-read-string text)))))

(ert-deftest bridle-unit-refuses ()
  (dolist (text '("" "(" ")" "(a" "(a))" "a b" "\"a" "\"a\\" "(a . )" "(. a)" "(a . b c)" "[a . b]"
                  "#.(f)" "#@10x" "#1=(a)" "#1#" "#s(hash-table)" "#[1 2]" "#'f" "#&3\"a\"" "#x10" "#:g"
                  "`(a)" ",a" "; c" "{" "(a]" "[a)" "\x01" "a\\"))
    (should-error (bridle-read-string text) :type 'bridle-read-error))
  (should-error (bridle-read-string (make-string 600 ?\()) :type 'bridle-read-error)
  (should-error (bridle-read-string (concat "(" (apply #'concat (make-list 500001 "1 ")) ")"))
                :type 'bridle-read-error)
  (should-error (bridle-read-string (make-string 5000 ?1)) :type 'bridle-read-error))

(ert-deftest bridle-unit-reads-in-steps ()
  (let ((form (list (make-string 300000 ?é) (number-sequence 1 2000) "a\n\\b")) (steps 0) result)
    (with-temp-buffer
      (insert (bridle-write form))
      (let ((reader (bridle-reader-start (current-buffer))))
        ;; A deadline in the past: the least that a step does.
        (while (not (setq result (bridle-reader-step reader 0))) (setq steps (1+ steps))))
      (should (equal form (car result)))
      (should (> steps 15)))))

(ert-deftest bridle-unit-names-stay-out-of-the-obarray ()
  (let* ((name (concat "bridle-unknown-" (bridle-wire-random-hex 8)))
         (symbol (car (bridle-read-string (format "(%s)" name)))))
    (should (equal name (symbol-name symbol)))
    (should-not (intern-soft name))
    (should (eq symbol (car (bridle-read-string (format "(%s)" name)))))))

(ert-deftest bridle-unit-escapes-across-pieces ()
  (dolist (offset '(-3 -2 -1 0 1 2))
    (let ((text (concat (make-string (+ bridle-read--piece offset) ?x) "\"\\\n" (make-string 70000 ?y))))
      (should (equal text (bridle-read-string (bridle-write text)))))))

(ert-deftest bridle-unit-writes-what-utf-8-has ()
  (should (equal "\"a\N{REPLACEMENT CHARACTER}b\"" (bridle-write (concat "a" (string #x3fff80) "b"))))
  (should (equal "\"\N{REPLACEMENT CHARACTER}\"" (bridle-write (string #xd800))))
  (should (equal "(:a nil \"x\ny\")" (bridle-write '(:a nil "x\ny")))))

(ert-deftest bridle-unit-keys-have-no-case ()
  (should (equal 1 (bridle-get '(:TYPE 1 :type 2) :type)))
  (should (equal nil (bridle-get '(:a) :a)))
  (should (equal nil (bridle-get "no list" :a)))
  (should (equal "event" (bridle-get-word '(:type :EVENT) :type))))

(ert-deftest bridle-unit-reads-what-emacs-printed ()
  (let ((folder (expand-file-name "../../../vectors/emacs" bridle-test-folder)) (count 0))
    (dolist (file (directory-files folder t "\\.el\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (let ((reader (bridle-reader-start (current-buffer))))
          (if (not (string-suffix-p "sample-ast.el" file))
              ;; Trees that lead back into themselves are printed with labels or levels.
              (should-error (bridle-reader-step reader nil) :type 'bridle-read-error)
            (let ((form (car (bridle-reader-step reader nil))))
              (should (eq 'org-data (car form)))
              (setq count (1+ count)))))))
    (should (= count 1))))

;;;; Frames

(ert-deftest bridle-unit-signature-of-the-protocol ()
  (should (equal "d67fda9ed209fc27bb41e9c64f1fc3d9e0ce569de7d884a936f5e2b18ba9d935"
                 (bridle-wire-hmac "secret" "(:type :EVENT :payload (:action :handshake))")))
  (let ((wire (bridle-wire--make :secret "0123456789abcdef" :signer t
                                 :client-nonce "ffeeddccbbaa99887766554433221100"
                                 :server-nonce "00112233445566778899aabbccddeeff" :sent 1)))
    (should (equal "520b01d1fc12fa0813f750419aea50eeae60c9e7e292cd1c9d743e4a3ac876d4"
                   (bridle-wire--sign wire "000015" "(:type :health-check)")))
    (should (equal 2 (bridle-wire-sent wire)))))

(defmacro bridle-unit-with-bytes (bytes &rest body)
  "Run BODY with `wire' whose input is BYTES; `taken' has its messages."
  (declare (indent 1))
  `(let* ((taken nil) (lost nil)
          (wire (bridle-wire--make :take (lambda (form) (push form taken))
                                   :down (lambda (reason) (push reason lost)) :state 'open
                                   :input (bridle-wire--buffer " *in*" nil)
                                   :work (bridle-wire--buffer " *work*" t))))
     (ignore lost)
     (with-current-buffer (bridle-wire-input wire) (insert ,bytes))
     (unwind-protect (progn ,@body)
       (bridle-wire-close wire))))

(defun bridle-unit-drain (wire)
  "Take all that is whole in WIRE."
  (condition-case err
      (while (and (buffer-live-p (bridle-wire-input wire)) (bridle-wire--advance wire nil)))
    (bridle-wire-error (bridle-wire--lost wire (cadr err)))
    (bridle-read-error (bridle-wire--unreadable wire err))))

(ert-deftest bridle-unit-frames-in-any-pieces ()
  (let ((bytes (concat (bridle-test-frame "(:type :LOG :text \"né\")") " \n"
                       (bridle-test-frame "(:type :STATUS)") "0000")))
    (dolist (size '(1 2 5 7 1000))
      (bridle-unit-with-bytes ""
        (cl-loop for from from 0 below (length bytes) by size
                 do (with-current-buffer (bridle-wire-input wire)
                      (goto-char (point-max))
                      (insert (substring bytes from (min (length bytes) (+ from size)))))
                 do (bridle-unit-drain wire))
        (should (equal '((:type :STATUS) (:type :LOG :text "né")) taken))
        (should-not lost)))))

(ert-deftest bridle-unit-broken-frames-end-the-connection ()
  (pcase-dolist (`(,bytes ,reason)
                 `(("+0001a" "bad header") ("00x" "bad header") ("ffffff(" "frame too large")
                   (,(concat (make-string 70000 ?\s) "0") "too many blanks")))
    (bridle-unit-with-bytes bytes
      (bridle-unit-drain wire)
      (should (equal (list reason) lost))
      (should (timerp (bridle-wire-retry wire))))))

(ert-deftest bridle-unit-partial-frames-wait ()
  (bridle-unit-with-bytes "00001"
    (bridle-unit-drain wire)
    (with-current-buffer (bridle-wire-input wire) (goto-char (point-max)) (insert "5(:type :heal"))
    (bridle-unit-drain wire)
    (should-not (or taken lost))
    ;; And not for ever.
    (setf (bridle-wire-last-byte wire) (- (float-time) 31))
    (bridle-wire--look-after wire)
    (should (equal '("stopped inside of a frame") lost))))

(ert-deftest bridle-unit-one-unreadable-message-costs-one-message ()
  (bridle-unit-with-bytes (concat (bridle-test-frame "(:type :EVENT :meta (:session \"a\" :seq 7) :payload #.(f))")
                                  (bridle-test-frame "(:type :STATUS)"))
    (bridle-unit-drain wire)
    (bridle-unit-drain wire)
    (should (equal '((:type :STATUS) (:type :EVENT :meta (:seq 7) :payload (:action :unreadable))) taken))
    (should-not lost)))

(ert-deftest bridle-unit-parts-are-put-together ()
  (let* ((form (list :type :EVENT :data (make-string 200000 ?é)))
         (parts (bridle-wire--cut-parts (bridle-write form) 49152)))
    (should (> (length parts) 8))
    (dolist (part parts) (should (<= (length part) 49152)))
    (bridle-unit-with-bytes (mapconcat (lambda (part) (concat (format "%06x" (length part)) part)) parts "")
      (bridle-unit-drain wire)
      (should (equal (list form) taken))))
  (bridle-unit-with-bytes (bridle-test-frame "(:type :EVENT :part (:id \"a\" :n 2 :of 2) :data \"x\")")
    (bridle-unit-drain wire)
    (should (equal '("a part that contradicts those before it") lost))))

(ert-deftest bridle-unit-too-large-a-message-is-left-out ()
  (let ((bridle-wire-max-message 100000) (of 30))
    (bridle-unit-with-bytes
        (mapconcat (lambda (n)
                     (bridle-test-frame
                      (bridle-write `(:type :EVENT :part (:id "a" :n ,n :of ,of)
                                      :data ,(concat (and (= n 1) "(:type :EVENT :meta (:session \"s\" :seq 9) :x \"")
                                                     (make-string 10000 ?x))))))
                   (number-sequence 1 of) "")
      (bridle-unit-drain wire)
      (should (equal 9 (bridle-get (bridle-get (car taken) :meta) :seq)))
      (should (equal "omitted" (bridle-get-word (bridle-get (car taken) :payload) :action))))))

(ert-deftest bridle-unit-a-daemon-that-does-not-read-holds-nothing-up ()
  (let* ((sent 0) (wire (bridle-wire--make :state 'open :process 'none :peer-max 49152 :can-parts t)))
    (cl-letf (((symbol-function 'process-live-p) (lambda (_) t))
              ((symbol-function 'process-send-string) (lambda (_ text) (cl-incf sent (length text)))))
      (should (bridle-wire-send wire (list :data (make-string 3000000 ?x))))
      (should (< sent (+ bridle-wire--window 60000)))
      (should (bridle-wire-pinging wire))
      ;; The answer to the check lets the next window go.
      (bridle-wire--take wire '(:type :health-response :status :healthy))
      (should (> sent (+ bridle-wire--window 1000)))
      (should (< sent (* 2 (+ bridle-wire--window 60000)))))))

(ert-deftest bridle-unit-too-much-input-stops-listening ()
  (bridle-unit-with-bytes ""
    (let ((filters nil))
      (cl-letf (((symbol-function 'process-get) (lambda (&rest _) wire))
                ((symbol-function 'set-process-filter) (lambda (_ filter) (push filter filters)))
                ((symbol-function 'process-live-p) (lambda (_) t)))
        (setf (bridle-wire-process wire) 'p)
        (dotimes (_ 20) (bridle-wire--filter 'p (make-string 60000 ?\s)))
        (should (memq t filters))
        (should (bridle-wire-paused wire))
        (bridle-wire--forget wire (buffer-size (bridle-wire-input wire)))
        (bridle-wire--listen-again wire)
        (should (eq #'bridle-wire--filter (car filters)))
        (should-not (bridle-wire-paused wire))
        (setf (bridle-wire-process wire) nil)))))

(ert-deftest bridle-unit-one-tick-is-bounded ()
  ;; The clock of the test goes one millisecond on with each look: a tick ends after a few messages.
  (bridle-unit-with-bytes (apply #'concat (make-list 2000 (bridle-test-frame "(:type :STATUS)")))
    (let ((now 0.0))
      (cl-letf (((symbol-function 'float-time) (lambda (&rest _) (cl-incf now 0.001))))
        (bridle-wire--tick wire))
      (should (<= 1 (length taken) 20))
      (should (timerp (bridle-wire-tick wire))))))

;;;; Sessions

(defun bridle-unit-session ()
  "Return a session without a connection."
  (bridle-session--make :name "s" :cursor 0 :floor 0 :phase 'attached
                        :wire (bridle-wire--make)))

(ert-deftest bridle-unit-numbers-are-heard-once ()
  (let ((session (bridle-unit-session)) (heard nil))
    (setf (bridle-session-listeners session)
          (list (lambda (_ what data)
                  (when (eq what 'event) (push (bridle-get-integer (bridle-get data :meta) :seq) heard)))))
    (dolist (seq '(1 2 2 4 3 1 5 5))
      (bridle-session--take session `(:type :EVENT :meta (:seq ,seq) :payload (:action :x))))
    (should (equal '(1 2 4 3 5) (reverse heard)))
    (should (equal 5 (bridle-session-cursor session)))))

(ert-deftest bridle-unit-a-request-is-carried-out-once ()
  (let* ((session (bridle-unit-session)) (done 0) (sent nil)
         (bridle-session-request-function (lambda (&rest _) (cl-incf done) '(:status :success)))
         (request (lambda (seq) `(:type :REQUEST :id "s-1" :meta (:seq ,seq) :payload (:action :x)))))
    (cl-letf (((symbol-function 'bridle-wire-send) (lambda (_ form) (push form sent) t)))
      (bridle-session--take session (funcall request 1))
      (bridle-session--carry-out session (funcall request 1))
      (should (equal 1 done))
      (should (equal 2 (length sent)))
      (bridle-session--take session '(:type :EVENT :meta (:seq 2) :payload (:action :outcome :effect "s-1")))
      (bridle-session--carry-out session (funcall request 1))
      (should (equal 1 done))
      (should (equal 2 (length sent))))))

(ert-deftest bridle-unit-requests-of-the-past-wait-for-their-outcome ()
  (let* ((session (bridle-unit-session)) (done nil)
         (bridle-session-request-function (lambda (_ id &rest _) (push id done) '(:status :success))))
    (setf (bridle-session-tail-end session) 3)
    (cl-letf (((symbol-function 'bridle-wire-send) (lambda (&rest _) t)))
      (bridle-session--take session '(:type :REQUEST :id "s-1" :meta (:seq 1) :payload (:action :x)))
      (bridle-session--take session '(:type :REQUEST :id "s-2" :meta (:seq 2) :payload (:action :x)))
      (should-not done)
      (bridle-session--take session '(:type :EVENT :meta (:seq 3) :payload (:action :outcome :effect "s-1")))
      (should (equal '("s-2") done)))))

(ert-deftest bridle-unit-what-is-said-again-keeps-its-order ()
  (let ((session (bridle-unit-session)) (sent nil))
    (cl-letf (((symbol-function 'bridle-wire-send)
               (lambda (_ form) (push (bridle-get (bridle-get form :payload) :text) sent) t)))
      (setf (bridle-session-connection session) 1)
      (let ((first (bridle-session-prompt session "0")))
        (bridle-session-prompt session "1")
        ;; The place of what was answered is free for another.
        (remhash (bridle-saying-id first) (bridle-session-sayings session)))
      (bridle-session-prompt session "2")
      (setq sent nil)
      (setf (bridle-session-connection session) 2)
      (bridle-session--say-due session)
      (should (equal '("1" "2") (reverse sent))))))

(ert-deftest bridle-unit-pieces-have-one-shape ()
  (should (equal '(:thought "turn-3" :channel "text" :offset nil :text "a")
                 (bridle-session--piece '(:action :delta :turn 3 :text "a"))))
  (should (equal '(:thought "th-1" :channel "reasoning" :offset 5 :text "b")
                 (bridle-session--piece '(:action :delta :thought "th-1" :channel :reasoning :offset 5 :text "b")))))

;;;; Buffers

(ert-deftest bridle-unit-changes-of-a-subtree ()
  (let ((before "* One\n:PROPERTIES:\n:ID: one\n:END:\nbody\n** Below\n* Two\n:PROPERTIES:\n:ID: two\n:END:\nrest\n"))
    (pcase-dolist
        (`(,payload ,after)
         '(((:action :insert-at-end :text "end") "rest\nend\\'")
           ((:action :refactor-subtree :target-id "one" :properties (:effort "1:00")) ":EFFORT:[ ]+1:00\n:END:\nbody")
           ((:action :update-node :target-id "one" :title "New" :todo "TODO") "\\`\\* TODO New\n")
           ((:action :update-node :target-id "one" :body "other") ":END:\nother\n\\*\\* Below")
           ((:action :refile :target-id "one" :to "two") "rest\n\\*\\* One\n:PROP[^z]*\\*\\*\\* Below\n\\'")))
      (should (string-match-p after (bridle-action--changed before payload))))
    (should-error (bridle-action--changed before '(:action :update-node :target-id "none" :title "x")))))

(ert-deftest bridle-unit-a-changed-buffer-is-not-touched ()
  (with-temp-buffer
    (insert "one\ntwo\nthree\n")
    (let ((before (buffer-string)) (mark (copy-marker 5)))
      (bridle-action--apply (current-buffer) before "one\n2\nthree\n")
      (should (equal "one\n2\nthree\n" (buffer-string)))
      (should (equal 5 (marker-position mark)))
      (should-error (bridle-action--apply (current-buffer) before "x"))
      (should (equal "one\n2\nthree\n" (buffer-string))))))

(ert-deftest bridle-unit-diff ()
  (should (equal "--- b\n+++ b\n@@ -1,4 +1,4 @@\n a\n-b\n+x\n c\n d\n"
                 (bridle-action-diff "a\nb\nc\nd\ne" "a\nx\nc\nd\ne" "b"))))

(ert-deftest bridle-unit-text-shows-what-it-has ()
  (should (equal "a\\u202eb\\u200bc\\u001b[1m" (bridle-text-visible "a\u202eb\u200bc\e[1m")))
  (should (equal "é 日本 \N{SMILING FACE WITH OPEN MOUTH}" (bridle-text-visible "é 日本 \N{SMILING FACE WITH OPEN MOUTH}")))
  (should (equal "a b" (bridle-text-line "a\n b\t")))
  (should (equal "#+begin_src python\n,* x\n#+end_src\n" (bridle-text-org "```python\n* x\n```")))
  (should (equal "see [[https://a.example][b]] and https://c.example\n"
                 (bridle-text-org "see [[https://a.example][b]] and https://c.example"))))

(ert-deftest bridle-unit-undo-of-the-prompt-survives-an-answer ()
  (bridle-test-with-peer
    (with-current-buffer (bridle-session-buffer session)
      (goto-char (point-max))
      (setq buffer-undo-list nil)
      (insert "draft")
      (undo-boundary)
      (insert " more")
      (undo-boundary)
      (bridle-test-peer-event 1 "(:status :success :action :message :text \"answer\")")
      (bridle-test-until (string-match-p "answer" (buffer-string)))
      (let ((last-command nil)) (undo 1))
      (should (string-suffix-p "* Prompt\ndraft" (buffer-string))))))

(ert-deftest bridle-unit-stream-with-offsets-repeats-nothing ()
  (bridle-test-with-peer
    (dolist (piece '("0 :text \"one \"" "0 :text \"one tw\"" "4 :text \"two three\""))
      (bridle-test-peer-say (format "(:type :EVENT :meta (:session \"h\") :payload (:action :delta :thought \"t\" :channel :text :offset %s))" piece)))
    (bridle-test-until (string-match-p "^one two three$" (bridle-test-transcript session)))
    (bridle-test-peer-event 1 "(:status :success :action :message :text \"whole\")")
    (bridle-test-until (string-match-p "^whole$" (bridle-test-transcript session)))
    (should-not (string-match-p "one two" (bridle-test-transcript session)))))

(ert-deftest bridle-unit-offsets-count-bytes ()
  (bridle-test-with-peer
    (dolist (piece '("0 :text \"übér \"" "0 :text \"übér zw\"" "9 :text \"ölf\"" "5 :text \"r zwölf Ende\""))
      (bridle-test-peer-say (format "(:type :EVENT :payload (:action :delta :thought 4 :channel :text :offset %s))" piece)))
    (bridle-test-until (string-match-p "^übér zwölf Ende$" (bridle-test-transcript session)))
    ;; The front of another thought is gone: who comes late sees that.
    (bridle-test-peer-say "(:type :EVENT :payload (:action :delta :thought 5 :channel :text :offset 900 :text \"late\"))")
    (bridle-test-until (string-match-p "^\\*\\* bridle …\n\\[…\\]\nlate$" (bridle-test-transcript session)))))

(ert-deftest bridle-unit-channels-are-told-apart ()
  (bridle-test-with-peer
    (dolist (piece '("1 :channel :reasoning :offset 0 :text \"hm \"" "1 :channel :text :offset 0 :text \"It is \""
                     "7 :channel :output :offset 0 :text \"* make\\n\"" "1 :channel :reasoning :offset 3 :text \"hm\""
                     "1 :channel :text :offset 6 :text \"so.\"" "7 :channel :output :offset 7 :text \"ok\""
                     "7 :channel :progress :offset 0 :text \"1 of 3\\n2 of 3\\n\"" "1 :channel :smell :offset 0 :text \"rose\""))
      (bridle-test-peer-say (format "(:type :EVENT :payload (:action :delta :turn 1 :thought %s))" piece)))
    (bridle-test-until
     (string-match-p "\\*\\* bridle thinks …\nhm hm\n\\*\\* bridle …\nIt is so\\.\n\\*\\* output …\n: \\* make\n: ok\n\\* Prompt"
                     (bridle-test-transcript session)))
    (should-not (string-match-p "rose" (bridle-test-transcript session)))
    (should (string-match-p "2 of 3" (buffer-local-value 'bridle-org--header (bridle-session-buffer session))))
    ;; The answer takes the place of text and reasoning, the outcome that of the output.
    (bridle-test-peer-event 1 "(:status :success :action :message :text \"It is so.\")")
    (bridle-test-until (string-match-p "^\\*\\* bridle\nIt is so\\.\n\\*\\* output …\n: \\* make\n: ok\n\\* Prompt"
                                       (bridle-test-transcript session)))
    (bridle-test-peer-event 2 "(:action :outcome :effect \"h-7\" :outcome :done :result (:output \"whole\"))")
    (bridle-test-until (not (string-match-p "output …" (bridle-test-transcript session))))
    (should-not (buffer-local-value 'bridle-org--progress (bridle-session-buffer session)))))

(ert-deftest bridle-unit-what-is-voided-goes-visibly ()
  (bridle-test-with-peer
    (bridle-test-peer-say "(:type :EVENT :payload (:action :delta :turn 1 :thought 3 :channel :text :offset 0 :text \"I will delete\"))")
    (bridle-test-until (string-match-p "I will delete" (bridle-test-transcript session)))
    (bridle-test-peer-say "(:type :EVENT :payload (:action :voided :turn 1 :thought 3))")
    (bridle-test-until (string-match-p "^- What stood here was taken back\\.$" (bridle-test-transcript session)))
    (should-not (string-match-p "delete" (bridle-test-transcript session)))))

(ert-deftest bridle-unit-costs-are-added-up ()
  (let ((session (bridle-unit-session)))
    (bridle-session--add-costs session '(:model "a/b" :thoughts 2 :cost-microdollars 1500 :unpriced 0 :last 7))
    (bridle-session--add-costs session '(:thoughts 0 :cost-microdollars 0 :unpriced 0 :last 7))
    (should (equal '("a/b" "$0.0015") (bridle-org--costs (bridle-session-costs session))))
    (bridle-session--add-costs session '(:model "c/d" :thoughts 1 :unpriced 1 :last 9))
    (should (equal '("c/d" "$0.0015 + 1 unknown") (bridle-org--costs (bridle-session-costs session))))
    (should (eql 9 (bridle-get-integer (bridle-session-costs session) :last)))
    (should-not (bridle-org--costs nil))))

;;;; What Emacs has of its own

(ert-deftest bridle-unit-bookmark-imenu-and-project ()
  (require 'bookmark)
  (require 'project)
  (bridle-test-with-peer
    (dolist (n '(1 2))
      (bridle-test-peer-event n (format "(:sensor :user-prompt :text \"question %d\")" n)))
    (bridle-test-until (string-match-p "question 2" (bridle-test-transcript session)))
    (with-current-buffer (bridle-session-buffer session)
      (should (equal '("question 1" "question 2") (mapcar #'car (funcall imenu-create-index-function))))
      (let ((bookmark (bookmark-make-record)))
        (goto-char (point-min))
        (with-temp-buffer
          (bridle-bookmark-jump bookmark)
          (should (equal "*bridle: h*" (buffer-name (window-buffer)))))))
    (let ((folder (make-temp-file "bridle project (1)" t)))
      (unwind-protect
          (let ((default-directory (file-name-as-directory folder))
                (project-find-functions (list (lambda (_) (cons 'transient folder)))))
            (should (string-match-p "\\`bridle-project-1-[A-Za-z0-9]+\\'" (bridle-default-session-name))))
        (delete-directory folder)))
    (let ((project-find-functions nil))
      (should (equal "main" (bridle-default-session-name))))))

(ert-deftest bridle-unit-secrets-come-from-auth-source ()
  (require 'auth-source)
  (let* ((file (make-temp-file "bridle-authinfo")) (auth-sources (list file)) (auth-source-do-cache nil)
         (bridle-key-id "laptop"))
    (unwind-protect
        (progn
          (with-temp-file file (insert "machine box.example port 9105 login laptop password s3cr3t-s3cr3t-ü\n"))
          (should (equal (encode-coding-string "s3cr3t-s3cr3t-ü" 'utf-8) (bridle--secret "box.example:9105")))
          (should-error (bridle--secret "other.example:9105") :type 'user-error)
          ;; A socket needs none.
          (should-not (bridle--secret "/run/bridle.sock")))
      (delete-file file))))

(ert-deftest bridle-unit-menu-has-every-command ()
  (require 'transient)
  (bridle--define-transient)
  (should (commandp 'bridle-transient))
  (pcase-dolist (`(,key ,command ,_name) bridle--commands)
    (should (commandp command))
    (should (eq command (plist-get (nth 2 (transient-get-suffix 'bridle-transient key)) :command)))))

(ert-deftest bridle-unit-a-capture-is-a-yes-to-its-own-lines-alone ()
  (let* ((text "* TODO Mine\n[x]\n") (bridle-memory--captures (list text))
         (diff "--- a/inbox.org\n+++ b/inbox.org\n@@ -1,1 +1,3 @@\n * Old\n+* TODO Mine\n+[x]\n")
         (ask (lambda (&rest changes)
                (let ((all (append changes
                                   (list :kind 'guard :target "memory" :action :append-subtree
                                         :path "/m/inbox.org" :text text :diff diff))))
                  (bridle-memory-is-capture
                   (bridle-question--make
                    :kind (plist-get all :kind) :target (plist-get all :target) :diff (plist-get all :diff)
                    :wanted (list :action (plist-get all :action) :path (plist-get all :path)
                                  :text (plist-get all :text))))))))
    (should (funcall ask))
    (dolist (other (list '(:kind local) '(:target "emacs") '(:action :insert-subtree) '(:path "/m/other.org")
                         '(:text "* TODO Yours\n") '(:diff nil)
                         (list :diff (concat diff "+more\n")) (list :diff (concat diff "-* Old\n"))))
      (should-not (apply ask other)))
    (setq bridle-memory--captures nil)
    (should-not (funcall ask))))

(ert-deftest bridle-unit-offers-fit-a-hello ()
  (let* ((text (bridle-write bridle-action-offers)) (known nil))
    (should (< (length text) 8192))
    (dolist (action (bridle-get-list (car bridle-action-offers) :actions))
      (push (bridle-word (if (consp action) (plist-get action :name) action)) known))
    ;; All that is offered is carried out; nothing else is.
    (dolist (name known)
      (should-not (eq :unsupported
                      (plist-get (bridle-action-perform (bridle-unit-session) "x" (list :action (intern (concat ":" name))) nil)
                                 :code))))
    (should (equal 9 (length known)))))

(ert-deftest bridle-unit-what-comes-during-a-stream-stays ()
  (bridle-test-with-peer
    (bridle-test-peer-say "(:type :EVENT :payload (:action :delta :turn 1 :text \"half an\"))")
    (bridle-test-peer-event 1 "(:action :outcome :effect \"h-1\" :outcome :done :result \"seen\")" ":id nil")
    (bridle-test-peer-say "(:type :EVENT :payload (:action :delta :turn 1 :text \" answer\"))")
    (bridle-test-until (string-match-p "=h-1=: done\n:RESULT:\n: seen\n:END:\n\\*\\* bridle …\nhalf an answer\n"
                                       (bridle-test-transcript session)))
    (bridle-test-peer-event 2 "(:status :success :action :message :text \"whole\")")
    (bridle-test-until (string-match-p "^whole$" (bridle-test-transcript session)))
    (should (string-match-p "=h-1=: done\n:RESULT:\n: seen\n:END:\n\\*\\* bridle\n"
                            (bridle-test-transcript session)))))

(ert-deftest bridle-unit-fontifying-keeps-keys-and-folds ()
  (bridle-test-with-peer
    (bridle-test-peer-say "(:type :REQUEST :id \"q\" :target :approval :meta (:session \"h\" :seq 1) :payload (:action :approve :approval \"q\" :question \"may I\" :risk :safe :target :emacs :hash \"x\" :wanted (:action :eval :code \"(+ 1 2)\")))")
    (bridle-test-until (bridle-session-questions session))
    (with-current-buffer (bridle-session-buffer session)
      (font-lock-mode 1)
      (font-lock-ensure)
      (goto-char (point-min))
      (search-forward "may I")
      (should (eq #'bridle-allow (key-binding "a")))
      (search-forward ":RESULT:")
      (forward-line 1)
      (should (invisible-p (point)))
      (forward-line -1)
      (bridle-org-tab)
      (forward-line 1)
      (should-not (invisible-p (point))))))

(ert-deftest bridle-unit-keys-are-of-the-convention ()
  ;; C-c LETTER belongs to the user.
  (map-keymap (lambda (event _binding)
                (should-not (and (integerp event) (or (<= ?a event ?z) (<= ?A event ?Z)))))
              (or (lookup-key bridle-mode-map "\C-c") (make-sparse-keymap))))

(ert-deftest bridle-unit-nothing-waits ()
  (dolist (file (directory-files (expand-file-name ".." bridle-test-folder) t "\\`bridle.*\\.el\\'"))
    (with-temp-buffer
      (insert-file-contents file)
      (dolist (name '("accept-process-output" "sleep-for" "sit-for" "call-process-region" "read-event"
                      "shell-command" "process-lines" "url-retrieve-synchronously" "while-no-input"))
        (goto-char (point-min))
        (should-not (search-forward (concat "(" name) nil t)))
      (goto-char (point-min))
      ;; The one call of a program does not wait for it.
      (while (search-forward "(call-process " nil t)
        (should (looking-at "\"/bin/sh\" nil 0 "))))))

(provide 'bridle-unit-test)
;;; bridle-unit-test.el ends here
