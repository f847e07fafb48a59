;;; bridle-metrics.el --- The three measures of success, in this Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Latency between event and response, fidelity of Org across the bridge, and how long Emacs is held up
;; under load.  `cargo xtask metrics' runs this in an Emacs with a terminal, so that redisplay counts, and
;; makes docs/metrics.md of the lines that it writes: NAME TAB VALUE TAB UNIT TAB BOUND.

;;; Code:

(require 'bridle-test-helper)

(defvar bridle-metrics--lines nil "What was measured.")

(defun bridle-metrics--note (name value unit &optional bound)
  "Note that NAME is VALUE in UNIT, which must not be over BOUND."
  (push (format "%s\t%s\t%s\t%s" name value unit (or bound "")) bridle-metrics--lines))

(defun bridle-metrics--quantile (numbers share)
  "Return the number below which SHARE of NUMBERS are."
  (let ((sorted (sort (copy-sequence numbers) #'<)))
    (nth (min (1- (length sorted)) (truncate (* share (length sorted)))) sorted)))

(defun bridle-metrics--note-times (name times &optional bound)
  "Note the TIMES of NAME, in seconds; p99 must not be over BOUND."
  (bridle-metrics--note (concat name ", p50") (format "%.1f" (* 1000 (bridle-metrics--quantile times 0.5))) "ms")
  (bridle-metrics--note (concat name ", p99") (format "%.1f" (* 1000 (bridle-metrics--quantile times 0.99)))
                        "ms" bound))

(defmacro bridle-metrics--time (&rest body)
  "Return the seconds that BODY takes."
  `(let ((began (float-time))) ,@body (- (float-time) began)))

(defun bridle-metrics--wait (function)
  "Let Emacs run until FUNCTION gives a value, redisplay included."
  (let ((end (+ (float-time) 120)) (shown 0))
    (while (not (funcall function))
      (when (> (float-time) end) (error "Not so after two minutes: %S" function))
      (accept-process-output nil 0.001)
      ;; As often as somebody sees it.
      (when (and (not noninteractive) (> (- (float-time) shown) 0.02))
        (redisplay)
        (setq shown (float-time))))))

;;;; Latency

(defun bridle-metrics-latency (count where)
  "Measure COUNT events of each kind against the real daemon.
WHERE, a text, is added to their names."
  (bridle-test-with-daemon ()
    (let ((session (bridle-test-session "work")) (inhibit-message t))
      (switch-to-buffer (bridle-session-buffer session))
      (bridle-metrics--note-times
       (concat ":focus, event to response" where)
       (cl-loop for n below count
                collect (let (answer)
                          (bridle-metrics--time
                           (bridle-session-say session `(:type :EVENT :payload (:sensor :focus :buffer "x" :line ,n))
                                               :callback (lambda (_) (setq answer t)))
                           (bridle-metrics--wait (lambda () answer)))))
       20)
      (bridle-metrics--note-times
       (concat ":message, request to answer" where)
       (cl-loop repeat count
                collect (let (done)
                          (bridle-metrics--time
                           (bridle-session-request session :emacs '(:action :message :text "hello" :level :info)
                                                   (lambda (_) (setq done t)))
                           (bridle-metrics--wait (lambda () done)))))
       20)
      (bridle-metrics--note-times
       (concat ":complete, asked of the daemon until the candidates are here" where)
       (cl-loop repeat count
                collect (let* (done (bridle-session-request-function
                                     (lambda (&rest arguments)
                                       (prog1 (apply #'bridle-action-perform arguments) (setq done t)))))
                          (bridle-metrics--time
                           (bridle-session-request
                            session :emacs '(:action :complete :prefix "def" :suggestions ("defun" "defvar")) #'ignore)
                           (bridle-metrics--wait (lambda () done)))))
       20)
      (bridle-test-wait-for-memory session)
      (bridle-metrics--note-times
       (concat "candidates, asked for by this editor until they are here" where)
       (cl-loop repeat count
                collect (bridle-metrics--time
                         (setq bridle--complete-since nil bridle-action--candidates nil)
                         (bridle--refresh-candidates session "Wat")
                         (bridle-metrics--wait (lambda () bridle-action--candidates))))
       20))))

;;;; Fidelity

(defun bridle-metrics-fidelity (files)
  "Send the trees of FILES to the daemon and compare what comes back."
  (bridle-test-with-daemon ()
    (let ((session (bridle-test-session "work")) (same 0) (nodes 0) (all 0))
      (dolist (file files)
        (with-temp-buffer
          (let ((coding-system-for-read 'utf-8-unix)) (insert-file-contents file))
          (when (< (buffer-size) bridle-action--longest-ast)
            (let ((org-inhibit-startup t)) (delay-mode-hooks (org-mode)))
            (let* ((name (file-name-nondirectory file)) (tree (bridle-action-ast))
                   (sent (bridle-read-string (bridle-write tree))) answer)
              (setq all (1+ all))
              (org-element-map tree (append org-element-all-elements org-element-all-objects)
                (lambda (_) (setq nodes (1+ nodes))))
              (bridle-session-say session `(:type :EVENT :payload (:sensor :buffer-update :buffer ,name
                                                                   :state :modified :ast ,tree)))
              (bridle-session-request session :context `(:action :get-ast :buffer ,name)
                                      (lambda (payload) (setq answer payload)))
              (bridle-metrics--wait (lambda () answer))
              (if (and (equal sent (bridle-get answer :ast))
                       (equal (org-element-interpret-data tree)
                              (org-element-interpret-data (bridle-get answer :ast))))
                  (setq same (1+ same))
                (message "differs: %s" name))))))
      (bridle-metrics--note "Org files whose tree came back the same" (format "%d of %d" same all) "")
      (bridle-metrics--note "nodes in them" nodes ""))))

;;;; Held up

(defun bridle-metrics-blocked (rate seconds mebibytes)
  "Measure the gaps of a timer under RATE deltas a second for SECONDS.
MEBIBYTES of results come meanwhile."
  (let* ((path (make-temp-name (expand-file-name "bridle-flood-" temporary-file-directory)))
         (flood (make-process :name "flood" :connection-type 'pipe :noquery t :buffer (generate-new-buffer " *flood*")
                              :command (list "python3" (expand-file-name "flood.py" bridle-test-folder) path
                                             (number-to-string rate) (number-to-string seconds)
                                             (number-to-string mebibytes))))
         (bridle-address path) (bridle-sessions nil) (bridle-start-daemon nil)
         (gaps nil) (own nil) (busy nil) (last nil) (last-run nil) (collected 0) (collections 0) timer)
    (unwind-protect
        (progn
          (bridle-metrics--wait (lambda () (> (buffer-size (process-buffer flood)) 0)))
          (let* ((session (bridle-open "flood")) (buffer (bridle-org-buffer session)))
            (switch-to-buffer buffer)
            (goto-char (point-max))
            (bridle-metrics--wait (lambda () (bridle-session-is-attached session)))
            (garbage-collect)
            (setq collected gc-elapsed collections gcs-done)
            (setq timer (run-at-time 0 0.01 (lambda ()
                                              (let ((now (float-time))
                                                    (run (float-time (get-internal-run-time))))
                                                (when last
                                                  (when (= collected gc-elapsed) (push (- run last-run) busy))
                                                  (push (- now last) gaps)
                                                  (push (- now last (- gc-elapsed collected)) own))
                                                (setq last now last-run run collected gc-elapsed)))))
            (bridle-org-prompt session "flood")
            (bridle-metrics--wait (lambda () (>= (bridle-session-cursor session) (+ 2 (/ mebibytes 4)))))
            (cancel-timer timer)
            (bridle-metrics--note (format "longest gap of a 10 ms timer, %d deltas a second and %d MiB of results"
                                          rate mebibytes)
                                  (format "%.1f" (* 1000 (apply #'max gaps))) "ms" 50)
            (bridle-metrics--note "the same, less what Emacs spent on garbage in it"
                                  (format "%.1f" (* 1000 (apply #'max own))) "ms")
            (bridle-metrics--note "the same, most processor time of Emacs in a gap without garbage"
                                  (format "%.1f" (* 1000 (apply #'max busy))) "ms" 50)
            (bridle-metrics--note "collections of garbage meanwhile" (- gcs-done collections) "")
            (bridle-metrics--note "the same, p99 of gaps"
                                  (format "%.1f" (* 1000 (bridle-metrics--quantile gaps 0.99))) "ms")
            (bridle-metrics--note "the same, gaps measured" (length gaps) "")
            (bridle-metrics--note "the same, results shown"
                                  (with-current-buffer buffer
                                    (how-many "^- =flood-[0-9]+=: done$" (point-min) (point-max)))
                                  "")))
      (when (timerp timer) (cancel-timer timer))
      (bridle-test-leave)
      (delete-process flood)
      (ignore-errors (delete-file path)))))

;;;; Opening

(defun bridle-metrics-open (turns)
  "Measure how long a session of TURNS takes to open."
  (bridle-test-with-daemon ()
    (let ((session (bridle-test-session "long")) (answered 0) (bridle-wire-log-events nil))
      (dotimes (n turns)
        (bridle-session-prompt session (format "echo turn %d, a question of some words" n) nil
                               (lambda (_) (setq answered (1+ answered))))
        ;; So many wait at once as a session takes.
        (bridle-metrics--wait (lambda () (< (- n answered) 32))))
      (bridle-metrics--wait (lambda () (= answered turns)))
      (bridle-test-leave)
      (let (session)
        (garbage-collect)
        (bridle-metrics--note
         (format "`M-x bridle` to a usable buffer, %d turns of history" turns)
         (format "%.0f" (* 1000 (bridle-metrics--time
                                 (setq session (bridle "long"))
                                 (bridle-metrics--wait
                                  (lambda () (eql (* 2 turns) (bridle-session-cursor session))))
                                 (redisplay))))
         "ms" 300)
        (let ((bridle-history-events (* 2 turns)))
          (bridle-test-leave)
          (bridle-metrics--note
           "the same, all of the history shown"
           (format "%.0f" (* 1000 (bridle-metrics--time
                                   (setq session (bridle "long"))
                                   (bridle-metrics--wait
                                    (lambda () (eql (* 2 turns) (bridle-session-cursor session))))
                                   (redisplay))))
           "ms")
          (unless (= turns (how-many "^echo: turn [0-9]+, a question of some words$" (point-min) (point-max)))
            (error "Not all of the history is shown")))))))

(defun bridle-metrics-garbage ()
  "Measure a collection of garbage by itself: what no package can be quicker than."
  (bridle-metrics--note "one collection of garbage in this Emacs, best of five"
                        (format "%.1f" (* 1000 (apply #'min (cl-loop repeat 5 collect
                                                                     (bridle-metrics--time (garbage-collect))))))
                        "ms"))

(defun bridle-metrics-run ()
  "Measure everything; write it to the file that BRIDLE_METRICS names."
  (condition-case err
      (progn
        (bridle-metrics--note "load of the machine, processes that want one of its processors"
                              (format "%.1f" (/ (car (load-average)) 100.0)) "")
        (bridle-metrics-garbage)
        (bridle-metrics-latency 300 "")
        ;; The record of such a daemon is on no disk: what is left is what programs take.
        (when (file-directory-p "/dev/shm")
          (let ((temporary-file-directory "/dev/shm/"))
            (bridle-metrics-latency 300 ", record in memory")))
        ;; Org itself does not end on one of them.
        (bridle-metrics-fidelity
         (cl-remove-if (lambda (file) (string-suffix-p "source-in-footnote-names.org" file))
                       (directory-files (expand-file-name "../../../vectors/org" bridle-test-folder)
                                        t "\\.org\\'")))
        (bridle-metrics-blocked 200 10 20)
        (bridle-metrics-open 1000))
    (error (push (format "failed\t%S\t\t" err) bridle-metrics--lines)))
  (let ((text (concat (string-join (reverse bridle-metrics--lines) "\n") "\n"))
        (coding-system-for-write 'utf-8-unix))
    (write-region text nil (or (getenv "BRIDLE_METRICS") "/dev/stdout") nil 'quiet))
  (kill-emacs 0))

(provide 'bridle-metrics)
;;; bridle-metrics.el ends here
