;;; bridle-chaos-test.el --- Connections cut and daemons killed at random  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Schedules made of a seed: prompts, typing in a file that is not saved, connections cut at once or in the
;; middle of a frame of either side, a daemon killed and started again.  Afterwards everything that was said
;; must be in the record once, answered once, and shown once, in the transcript that lived through it and in
;; one that is made anew; and the file and the typed text are what the user made of them.  Three schedules of
;; 40 steps unless BRIDLE_CHAOS_SCHEDULES and BRIDLE_CHAOS_STEPS say so; BRIDLE_CHAOS_SEED begins elsewhere.

;;; Code:

(require 'bridle-test-helper)

(defun bridle-chaos--setting (name default)
  "Return the number that the variable NAME of the environment has, or DEFAULT."
  (string-to-number (or (getenv name) (number-to-string default))))

;;;; A proxy that cuts

(cl-defstruct (bridle-chaos (:constructor bridle-chaos--make))
  "A proxy: where it LISTENS, the socket of the DAEMON, its pairs of processes.
BUDGET is how many more bytes pass until it cuts, nil for no end."
  path server daemon pairs budget (cuts 0))

(defun bridle-chaos--start (path daemon)
  "Return a proxy at PATH before the socket DAEMON."
  (let ((chaos (bridle-chaos--make :path path :daemon daemon)))
    (setf (bridle-chaos-server chaos)
          (make-network-process
           :name "chaos" :server t :family 'local :service path :coding 'binary :noquery t
           :log (lambda (_server near _message) (bridle-chaos--joined chaos near))))
    chaos))

(defun bridle-chaos--joined (chaos near)
  "Connect NEAR, which came to CHAOS, with the daemon; hang up if none is there."
  (let ((far (ignore-errors
               (make-network-process :name "far" :family 'local :service (bridle-chaos-daemon chaos)
                                     :coding 'binary :noquery t))))
    (if (not far)
        (delete-process near)
      (set-process-query-on-exit-flag near nil)
      (push (cons near far) (bridle-chaos-pairs chaos))
      (dolist (way (list (cons near far) (cons far near)))
        (set-process-filter (car way) (lambda (_process bytes) (bridle-chaos--pass chaos (cdr way) bytes)))
        (set-process-sentinel (car way) (lambda (process _event)
                                          ;; It also tells that a connection stands.
                                          (unless (process-live-p process)
                                            (bridle-chaos--end (cdr way)))))))))

(defun bridle-chaos--pass (chaos to bytes)
  "Hand BYTES on to TO, as many as the budget of CHAOS has; then cut."
  (let* ((budget (bridle-chaos-budget chaos))
         (some (if (and budget (< budget (length bytes))) (substring bytes 0 budget) bytes)))
    (when (process-live-p to) (ignore-errors (process-send-string to some)))
    (when budget
      (setf (bridle-chaos-budget chaos) (- budget (length some)))
      (when (<= (bridle-chaos-budget chaos) 0) (bridle-chaos--cut chaos)))))

(defun bridle-chaos--end (process)
  "End PROCESS, whose other side is gone."
  (when (process-live-p process) (delete-process process)))

(defun bridle-chaos--cut (chaos)
  "Cut all connections of CHAOS."
  (setf (bridle-chaos-budget chaos) nil)
  (cl-incf (bridle-chaos-cuts chaos))
  (dolist (pair (bridle-chaos-pairs chaos))
    (dolist (process (list (car pair) (cdr pair)))
      (set-process-filter process #'ignore)
      (when (process-live-p process) (delete-process process))))
  (setf (bridle-chaos-pairs chaos) nil))

(defun bridle-chaos--stop (chaos)
  "End CHAOS."
  (bridle-chaos--cut chaos)
  (delete-process (bridle-chaos-server chaos))
  (ignore-errors (delete-file (bridle-chaos-path chaos))))

;;;; Schedules

(defun bridle-chaos--step (chaos daemon session buffer prompts)
  "Do one thing that chance chooses; PROMPTS is how many were said.
Return how many were said then.  CHAOS, DAEMON, SESSION and BUFFER are
what it is done to."
  (pcase (random 20)
    ((pred (> 9))
     (let ((n prompts))
       (bridle-org-prompt session (format "%s %d" (if (= 0 (random 3)) "slow" "echo") n) nil
                          (lambda (payload) (push (cons n (bridle-get payload :text)) bridle-chaos--answers)))
       (setq prompts (1+ n))))
    ((pred (> 12))
     (with-current-buffer buffer
       (goto-char (point-max))
       (insert (format "line %d\n" (random 1000)))
       (bridle-sensor-tell-changes)))
    ((pred (> 14)) (bridle-chaos--cut chaos))
    ((pred (> 16)) (setf (bridle-chaos-budget chaos) (1+ (random 3000))))
    (17 (bridle-test-kill daemon) (bridle-test-run (/ (random 100) 1000.0)) (bridle-test-up daemon))
    (_ (bridle-test-run (/ (random 200) 1000.0))))
  (when (= 0 (random 3)) (bridle-reconnect))
  (bridle-test-run (/ (random 20) 1000.0))
  prompts)

(defvar bridle-chaos--answers nil "Answers as they came: number and text.")

(defun bridle-chaos--numbers (text)
  "Return the numbers of the answers that the transcript TEXT shows, in order."
  (let ((from 0) found)
    (while (string-match "^\\(?:echo: \\|two\n\\)\\([0-9]+\\)$" text from)
      (push (string-to-number (match-string 1 text)) found)
      (setq from (match-end 0)))
    (nreverse found)))

(defun bridle-chaos--run (seed steps)
  "Live through STEPS of the schedule of SEED."
  (random (format "bridle-chaos-%d" seed))
  (bridle-test-with-daemon ()
    (let* ((chaos (bridle-chaos--start (concat bridle-address ".chaos") bridle-address))
           (bridle-address (bridle-chaos-path chaos)) (bridle-chaos--answers nil)
           (bridle-history-events 100000) (create-lockfiles nil) (prompts 0) (inhibit-message t)
           (file (expand-file-name "memex/garden.org" (bridle-test-daemon-folder daemon)))
           (on-disk (bridle-chaos--file file))
           (buffer (find-file-noselect file)) typed)
      (unwind-protect
          (let ((session (bridle-test-session "work")))
            (setq bridle-sensor-session-function (lambda () session))
            (bridle-sense-mode 1)
            (dotimes (_ steps)
              (setq prompts (bridle-chaos--step chaos daemon session buffer prompts)))
            ;; Peace.
            (setf (bridle-chaos-budget chaos) nil)
            (setq typed (with-current-buffer buffer (buffer-string)))
            (bridle-reconnect)
            (bridle-test-until (= prompts (length bridle-chaos--answers)))
            (bridle-test-until (and (bridle-session-is-attached session)
                                    (equal "idle" (bridle-session-state session))))
            (bridle-chaos--check session prompts)
            (should (equal typed (with-current-buffer buffer (buffer-string))))
            (should (equal on-disk (bridle-chaos--file file)))
            (bridle-test-leave)
            (let ((session (bridle-test-session "work")))
              (bridle-test-until (= prompts (length (bridle-chaos--numbers (bridle-test-transcript session)))))
              (bridle-chaos--check session prompts)))
        (bridle-sense-mode -1)
        (with-current-buffer buffer (set-buffer-modified-p nil))
        (kill-buffer buffer)
        (bridle-chaos--stop chaos)))))

(defun bridle-chaos--check (session prompts)
  "Everything of PROMPTS is in SESSION once: said, answered and shown."
  (should (equal (number-sequence 0 (1- prompts))
                 (sort (mapcar #'car bridle-chaos--answers) #'<)))
  (pcase-dolist (`(,n . ,text) bridle-chaos--answers)
    (should (member text (list (format "echo: %d" n) (format "slow: one\ntwo\n%d" n)))))
  (let ((text (bridle-test-transcript session)))
    (should (equal (number-sequence 0 (1- prompts)) (bridle-chaos--numbers text)))
    (should-not (string-match-p "…" text)))
  (let* ((page (bridle-test-request session :record '(:action :page :session "work" :kinds (:signal))))
         (said (cl-count-if (lambda (record)
                              (string-match-p ":sensor :user-prompt" (bridle-get-string record :body)))
                            (bridle-get-list page :records))))
    (should (= said prompts))))

(defun bridle-chaos--file (file)
  "Return the text of FILE."
  (with-temp-buffer (insert-file-contents file) (buffer-string)))

(ert-deftest bridle-chaos-loses-no-line ()
  (let ((first (bridle-chaos--setting "BRIDLE_CHAOS_SEED" 1)))
    (dotimes (n (bridle-chaos--setting "BRIDLE_CHAOS_SCHEDULES" 3))
      (ert-info ((format "BRIDLE_CHAOS_SEED=%d BRIDLE_CHAOS_SCHEDULES=1" (+ first n)) :prefix "again: ")
        (bridle-chaos--run (+ first n) (bridle-chaos--setting "BRIDLE_CHAOS_STEPS" 40))))))

(ert-deftest bridle-chaos-a-daemon-that-stops-in-the-middle-of-a-frame-is-left ()
  (bridle-test-with-peer
    (let ((process (bridle-wire-process (bridle-session-wire session))))
      (process-send-string bridle-test-peer "0000ff(:type :EVENT :payload (:act")
      (bridle-test-run 0.1)
      ;; Emacs goes on meanwhile; once the time is over it hangs up and comes back.
      (should (process-live-p process))
      (setf (bridle-wire-last-byte (bridle-session-wire session)) (- (float-time) 31))
      (bridle-wire--look-after (bridle-session-wire session))
      (should-not (process-live-p process))
      (bridle-reconnect)
      (bridle-test-until (bridle-session-is-attached session)))))

(provide 'bridle-chaos-test)
;;; bridle-chaos-test.el ends here
