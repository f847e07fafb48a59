;;; bridle-test-helper.el --- A real daemon, a hostile one, and patience  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; For the tests alone: here, and nowhere in the package, something waits.

;;; Code:

(require 'ert)
(require 'cl-lib)
(require 'bridle)

(defconst bridle-test-folder
  (file-name-directory (or load-file-name buffer-file-name))
  "Where the tests are.")

(defvar bridle-test-patience (string-to-number (or (getenv "BRIDLE_TEST_PATIENCE") "30"))
  "Seconds after which what should happen has not; machines may be busy.")

(defmacro bridle-test-until (condition)
  "Let Emacs run until CONDITION holds; fail when it does not."
  `(bridle-test--until (lambda () ,condition) ',condition))

(defun bridle-test--until (function what)
  "Let Emacs run until FUNCTION gives a value, which stands for WHAT."
  (let ((end (+ (float-time) bridle-test-patience)) value)
    (while (and (not (setq value (funcall function))) (< (float-time) end))
      (accept-process-output nil 0.01))
    (unless value (error "Not so after %d seconds: %S" bridle-test-patience what))
    value))

(defun bridle-test-run (seconds)
  "Let Emacs run for SECONDS."
  (let ((end (+ (float-time) seconds)))
    (while (< (float-time) end) (accept-process-output nil 0.01))))

;;;; The real daemon

(defvar bridle-test-rules "
(rule :when \"echo *\" :say \"echo: $1\")
(rule :when \"slow *\" :delay 20 :pace 5 :stream (\"slow: \" \"one
\" \"two
\" \"$1\"))
(rule :when \"ring *\" :result nil :propose ((:target :emacs :action :notify :text \"$1\" :then-think t)))
(rule :when \"ring *\" :result (:outcome :done) :say \"rung\")
(rule :when \"run *\" :result nil :propose ((:target :emacs :action :eval :code \"$1\" :then-think t)))
(rule :when \"run *\" :result (:target :emacs :outcome :done :value (:result *)) :say \"it gave $2\")
(rule :when \"run *\" :result t :say \"it was not run\")
(rule :when \"offer *\" :result nil :propose ((:target :emacs :action :complete :prefix \"$1\" :suggestions (\"$1-one\" \"$1-two\") :then-think t)))
(rule :when \"offer *\" :result t :say \"offered\")
(rule :when \"insert *\" :result nil :propose ((:target :emacs :action :insert-at-end :buffer \"notes.org\" :text \"$1\" :then-think t)))
(rule :when \"insert *\" :result t :say \"inserted\")
(rule :when \"tidy *\" :result nil :propose ((:target :emacs :action :refactor-subtree :target-id \"$1\" :properties (:effort \"1:00\") :then-think t)))
(rule :when \"tidy *\" :result t :say \"tidied\")
(rule :when \"rename * to *\" :result nil :propose ((:target :emacs :action :update-node :target-id \"$1\" :title \"$2\" :then-think t)))
(rule :when \"rename *\" :result (:outcome :done) :say \"renamed\")
(rule :when \"rename *\" :result t :say \"not renamed\")
(rule :when \"move * below *\" :result nil :propose ((:target :emacs :action :refile-subtree :target-id \"$1\" :to \"$2\" :then-think t)))
(rule :when \"move *\" :result (:outcome :done) :say \"moved\")
(rule :when \"move *\" :result t :say \"not moved\")
(rule :when \"look at *\" :result nil :propose ((:target :emacs :action :get-ast :buffer \"$1\" :then-think t)))
(rule :when \"look at *\" :result (:outcome :done :value (:ast *)) :say \"saw a tree\")
(rule :when \"look at *\" :result t :say \"saw nothing\")
(rule :when \"spend *\" :model \"test/tiny\" :say \"spent on $1\")
(rule :when \"write * into *\" :result nil :propose ((:target :file :action :write :path \"$2\" :text \"$1\" :then-think t)))
(rule :when \"write *\" :result (:outcome :done) :say \"written\")
(rule :when \"write *\" :result t :say \"not written\")
(rule :when \"done *\" :result nil :propose ((:target :memory :action :set-state :path \"garden.org\" :outline (\"$1\") :state \"DONE\" :then-think t)))
(rule :when \"done *\" :result t :say \"done with it\")
(rule :when \"wait *\" :delay 60000 :say \"waited\")
(default :say \"nothing fits\")
" "What the thinker of the daemon says.")

(cl-defstruct (bridle-test-daemon (:constructor bridle-test-daemon--make))
  "A daemon: its FOLDER, the path of its socket, its PROCESS."
  folder socket process options)

(defun bridle-test-start (&rest options)
  "Return a daemon with a memory, started with OPTIONS."
  (let* ((folder (make-temp-file "bridle-" t))
         (daemon (bridle-test-daemon--make :folder folder :options options
                                           :socket (expand-file-name "s" folder)))
         (memex (expand-file-name "memex" folder)))
    (make-directory memex)
    (make-directory (expand-file-name "project" folder))
    (with-temp-file (expand-file-name "garden.org" memex)
      (insert "* TODO Water\n:PROPERTIES:\n:ID: water\n:END:\nBefore noon.\n* Other\n:PROPERTIES:\n:ID: there\n:END:\n"))
    (with-temp-file (expand-file-name "rules" folder) (insert bridle-test-rules))
    (bridle-test-up daemon)
    daemon))

(defun bridle-test-up (daemon)
  "Start DAEMON and wait until it serves."
  (let* ((folder (bridle-test-daemon-folder daemon)) (process nil)
         (buffer (generate-new-buffer " *daemon*")))
    (setq process
          (make-process
           :name "daemon" :buffer buffer :noquery t :connection-type 'pipe
           :command `(,(or (getenv "BRIDLE_BIN") "bridle")
                      ,@(split-string (or (getenv "BRIDLE_BIN_ARGUMENTS") "") " " t)
                      "up" "--unix" ,(bridle-test-daemon-socket daemon)
                      "--http" "off" "--policy" ,(expand-file-name "policy.org" folder) "--log" "error"
                      "--state" ,(expand-file-name "state" folder)
                      "--memex" ,(expand-file-name "memex" folder)
                      "--thinker" ,(concat "script:" (expand-file-name "rules" folder))
                      ,@(or (bridle-test-daemon-options daemon) '("--tcp" "off")))))
    (set-process-query-on-exit-flag process nil)
    (setf (bridle-test-daemon-process daemon) process)
    (bridle-test-until (with-current-buffer buffer
                         (save-excursion (goto-char (point-min))
                                         (re-search-forward "^ready.*$" nil t))))))

(defun bridle-test-ready-line (daemon)
  "Return what DAEMON said when it was ready."
  (with-current-buffer (process-buffer (bridle-test-daemon-process daemon))
    (buffer-string)))

(defun bridle-test-kill (daemon)
  "End DAEMON at once."
  (let ((process (bridle-test-daemon-process daemon)))
    (signal-process process 'SIGKILL)
    (bridle-test-until (not (process-live-p process)))))

(defmacro bridle-test-with-daemon (options &rest body)
  "Run BODY with a daemon started with OPTIONS, bound to `daemon'."
  (declare (indent 1))
  `(let* ((daemon (bridle-test-start ,@options))
          (bridle-address (bridle-test-daemon-socket daemon))
          (bridle-program (or (getenv "BRIDLE_BIN") "bridle"))
          (bridle--client-id "11111111-1111-4111-8111-111111111111")
          (bridle-sessions nil) (bridle-action--approved nil) (bridle-action--candidates nil))
     (unwind-protect (progn ,@body)
       (bridle-test-leave)
       (delete-process (bridle-test-daemon-process daemon))
       (delete-directory (bridle-test-daemon-folder daemon) t))))

(defun bridle-test-leave ()
  "Close all sessions and transcripts."
  (dolist (session (copy-sequence bridle-sessions))
    (let ((buffer (bridle-session-buffer session)))
      (if (buffer-live-p buffer) (kill-buffer buffer) (bridle-session-close session))))
  (setq bridle-approve--elsewhere nil bridle--complete-since nil bridle--complete-asked nil)
  (dolist (name '("*bridle undo*" "*bridle why*" "*bridle grant*" "*bridle question*"
                  "*bridle approvals*" "*bridle search*" "*bridle agenda*"))
    (when (get-buffer name) (kill-buffer name))))

(defun bridle-test-session (name)
  "Return the session NAME with a transcript, attached."
  (let ((session (bridle-open name)))
    (bridle-org-buffer session)
    (bridle-test-until (bridle-session-is-attached session))
    session))

(defun bridle-test-ask (session text)
  "Say TEXT in SESSION; return the payload of the answer."
  (let (answer)
    (bridle-org-prompt session text nil (lambda (payload) (setq answer payload)))
    (bridle-test-until answer)))

(defun bridle-test-request (session target payload)
  "Ask TARGET of SESSION for PAYLOAD; return the payload of the answer."
  (let (answer)
    (bridle-session-request session target payload (lambda (payload) (setq answer payload)))
    (bridle-test-until answer)))

(defun bridle-test-wait-for-memory (session)
  "Let Emacs run until the daemon of SESSION has its index of the memory."
  (bridle-test-until
   (equal "ready" (bridle-get-word (bridle-test-request session :context '(:action :memex-status))
                                   :state))))

(defun bridle-test-question (session)
  "Return the question that SESSION has, when it has one."
  (bridle-test-until (cdar (bridle-session-questions session))))

(defun bridle-test-answer (session verdict)
  "Give VERDICT to the question of SESSION, as its keys do."
  (let ((question (bridle-test-question session)))
    (when (and (eq verdict 'allow) (eq 'guard (bridle-question-kind question)))
      (bridle-action-note-approval question))
    (bridle-question-give-answer question verdict)
    question))

(defun bridle-test-transcript (session)
  "Return the text of the transcript of SESSION."
  (with-current-buffer (bridle-session-buffer session)
    (buffer-substring-no-properties (point-min) (point-max))))

;;;; A daemon that says what a test tells it

(defvar bridle-test-peer nil "The connection that came in last.")
(defvar bridle-test-peer-heard nil "What the peer heard, the latest first.")

(defun bridle-test-frame (text)
  "Return TEXT as a frame."
  (let ((bytes (encode-coding-string text 'utf-8-unix)))
    (concat (format "%06x" (length bytes)) bytes)))

(defun bridle-test-peer-say (text)
  "Have the peer send TEXT, one form, as a frame."
  (process-send-string bridle-test-peer (bridle-test-frame text)))

(defun bridle-test-peer-event (seq payload &optional more)
  "Have the peer send event SEQ with PAYLOAD, both text; MORE goes before it."
  (bridle-test-peer-say (format "(:type :EVENT %s :meta (:session \"h\" :seq %d :answers 1) :payload %s)"
                                (or more "") seq payload)))

(defmacro bridle-test-with-peer (&rest body)
  "Run BODY with a session `session' whose daemon is played by the test."
  `(let* ((path (make-temp-name (expand-file-name "bridle-peer-" temporary-file-directory)))
          (bridle-test-peer-heard nil) (bridle-test-peer nil)
          (server (make-network-process
                   :name "peer" :server t :family 'local :service path :coding 'binary :noquery t
                   :log (lambda (_server client _message)
                          (setq bridle-test-peer client)
                          (set-process-query-on-exit-flag client nil)
                          (process-send-string
                           client (bridle-test-frame "(:type :EVENT :payload (:action :handshake :version \"0.3.0\" :capabilities (:parts :attach :stream) :server \"hostile/1\" :limits (:max-frame 16777215)))")))
                   :filter #'bridle-test--peer-filter))
          (bridle-address path) (bridle-sessions nil) (bridle-start-daemon nil)
          (bridle-action--approved nil) (bridle-action--candidates nil)
          (bridle--client-id "11111111-1111-4111-8111-111111111111")
          (session (bridle-open "h")))
     (unwind-protect
         (progn (bridle-org-buffer session)
                (bridle-test-until (bridle-session-is-attached session))
                ,@body)
       (bridle-test-leave)
       (when bridle-test-peer (delete-process bridle-test-peer))
       (delete-process server)
       (ignore-errors (delete-file path)))))

(defun bridle-test--peer-filter (process bytes)
  "Answer the hello and health checks in BYTES of PROCESS; keep all else."
  (let ((text (concat (process-get process 'rest) bytes)))
    (while (and (>= (length text) 6)
                (>= (length text) (+ 6 (string-to-number (substring text 0 6) 16))))
      (let* ((end (+ 6 (string-to-number (substring text 0 6) 16)))
             (form (decode-coding-string (substring text 6 end) 'utf-8)))
        (setq text (substring text end))
        (cond
         ((string-match-p ":action :handshake" form)
          (process-send-string
           process (bridle-test-frame "(:type :RESPONSE :id nil :meta (:session \"h\" :seq 0) :payload (:status :success :action :handshake :session \"h\" :seq 0 :role :controller :state :idle))")))
         ((string-match-p ":health-check" form)
          (process-send-string process (bridle-test-frame "(:type :health-response :status :healthy :checked-p t)")))
         (t (push form bridle-test-peer-heard)))))
    (process-put process 'rest text)))

(provide 'bridle-test-helper)
;;; bridle-test-helper.el ends here
