;;; bridle-screen-test.el --- An Emacs in a terminal, used with its keys  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; A second Emacs runs in tmux, before the real daemon; this one presses its keys and reads its screen, and
;; looks into the record.  Every sensor and action of the protocol is used as a person does.  Some screens
;; are in docs/emacs.md, behind a line `<!-- screen: NAME -->': they must be as they are here, times and
;; folders apart.  With BRIDLE_SCREENS=write the document is written anew.

;;; Code:

(require 'bridle-test-helper)

(defconst bridle-screen--rules "
(rule :when \"what should I do today?\" :text \"Two things:

- water the beds, before noon
- buy seeds, see [[file:/srv/me/memex/garden.org]]

```python
print('nothing here is run')
```
[[elisp:(delete-file \\\"~/notes.org\\\")][A friendly link]]\" :model \"demo/tiny\")
(rule :when \"the beds are watered\" :result nil :propose ((:target :memory :action :set-state :path \"garden.org\" :outline (\"Water the beds\") :state \"DONE\" :then-think t)))
(rule :when \"the beds are watered\" :result t :say \"Noted.\")
(rule :when \"how many buffers?\" :result nil :propose ((:target :emacs :action :eval :code \"(length '(one two three))\" :then-think t)))
(rule :when \"how many buffers?\" :result (:outcome :done :value (:result *)) :say \"It says $1.\")
(rule :when \"how many buffers?\" :result t :say \"I may not look.\")
(rule :when \"ring *\" :result nil :propose ((:target :emacs :action :notify :text \"$1\" :then-think t)))
(rule :when \"ring *\" :result (:outcome :done) :say \"rung\")
(rule :when \"offer *\" :result nil :propose ((:target :emacs :action :complete :prefix \"$1\" :suggestions (\"$1-one\" \"$1-two\") :then-think t)))
(rule :when \"offer *\" :result t :say \"offered\")
(rule :when \"insert *\" :result nil :propose ((:target :emacs :action :insert-at-end :buffer \"notes\" :text \"$1\" :then-think t)))
(rule :when \"insert *\" :result (:outcome :done) :say \"inserted\")
(rule :when \"tidy *\" :result nil :propose ((:target :emacs :action :refactor-subtree :target-id \"$1\" :properties (:effort \"1:00\") :then-think t)))
(rule :when \"tidy *\" :result t :say \"tidied\")
(rule :when \"slow *\" :delay 20 :pace 400 :stream (\"piece by \" \"piece\nand \" \"$1\"))
(rule :when \"wait *\" :delay 60000 :say \"waited\")
(default :say \"nothing fits\")
" "What the thinker says to what is typed here.")

(defvar bridle-screen--socket nil "The socket of tmux.")

(defun bridle-screen--tmux (&rest arguments)
  "Run tmux with ARGUMENTS; return what it printed."
  (with-temp-buffer
    (let* ((process-environment (append '("TMUX" "LC_ALL=C.UTF-8" "TZ=UTC" "SHELL=/bin/sh") process-environment))
           (coding-system-for-read 'utf-8-unix)
           (code (apply #'call-process "tmux" nil t nil "-S" bridle-screen--socket "-f" "/dev/null" arguments)))
      (unless (eql 0 code) (error "Tmux %S: %s" arguments (buffer-string)))
      (buffer-string))))

(defun bridle-screen--text ()
  "Return the screen."
  (string-trim-right (replace-regexp-in-string "[ \t]+$" "" (bridle-screen--tmux "capture-pane" "-p" "-t" "t"))))

(defun bridle-screen--keys (&rest keys)
  "Press KEYS, as tmux names them."
  (apply #'bridle-screen--tmux "send-keys" "-t" "t" keys))

(defun bridle-screen--type (text)
  "Type TEXT."
  (bridle-screen--tmux "send-keys" "-t" "t" "-l" "--" text))

(defun bridle-screen--command (name)
  "Run the command NAME with M-x."
  (bridle-screen--keys "M-x")
  (bridle-screen--type name)
  (bridle-screen--keys "Enter"))

(defun bridle-screen--until (regexp)
  "Let time pass until the screen matches REGEXP; return the screen."
  (let ((end (+ (float-time) bridle-test-patience)) (text ""))
    (while (and (not (string-match-p regexp (setq text (bridle-screen--text)))) (< (float-time) end))
      (bridle-test-run 0.05))
    (unless (string-match-p regexp text) (error "Never on the screen: %s\n%s" regexp text))
    text))

(defun bridle-screen--say (text)
  "Say TEXT in the transcript."
  (bridle-screen--keys "M->")
  (bridle-screen--type text)
  (bridle-screen--keys "C-c" "C-c"))

(defun bridle-screen--go (regexp)
  "Put point on the last line of the transcript that matches REGEXP."
  (bridle-screen--keys "M-:")
  (bridle-screen--type (format "(progn (goto-char (point-max)) (re-search-backward %S) (recenter 3) (message nil))" regexp))
  (bridle-screen--keys "Enter")
  (bridle-test-run 0.2))

(defun bridle-screen--record (session)
  "Return the bodies of the signals in the record of SESSION."
  (mapcar (lambda (record) (bridle-get-string record :body))
          (bridle-get-list (bridle-test-request session :record '(:action :page :session "main" :kinds (:signal)))
                           :records)))

;;;; The document

(defun bridle-screen--plain (text folder)
  "Return TEXT with the times and the FOLDER of this run replaced."
  (let ((text (string-replace folder "/srv/me" text)))
    (dolist (pair '(("\\[20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [A-Z][a-z][a-z] [0-9][0-9]:[0-9][0-9]\\]"
                     . "[2026-11-19 Thu 18:00]")
                    (" [0-9][0-9] [A-Z][a-z][a-z] [0-9][0-9]:[0-9][0-9]" . " 20 Nov 18:00")
                    ("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [A-Z][a-z][a-z]" . "2026-11-19 Thu")
                    ;; The mode line and the echo area are Emacs's own.
                    ("\n-UUU:.*\\(?:\n.*\\)*\\'" . "")))
      (setq text (replace-regexp-in-string (car pair) (cdr pair) text)))
    (string-trim-right text)))

(defun bridle-screen--compare (name text folder)
  "The screen NAME in the document is TEXT, but for times and FOLDER."
  (let ((document (expand-file-name "../../../docs/emacs.md" bridle-test-folder))
        (text (bridle-screen--plain text folder)))
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8-unix)) (insert-file-contents document))
      (should (re-search-forward (format "^<!-- screen: %s -->\n\n```text\n" name) nil t))
      (let ((from (point)) (to (progn (re-search-forward "^```$") (match-beginning 0))))
        (if (not (equal "write" (getenv "BRIDLE_SCREENS")))
            (should (equal text (string-trim-right (buffer-substring-no-properties from to))))
          (delete-region from to)
          (goto-char from)
          (insert text "\n")
          (let ((coding-system-for-write 'utf-8-unix)) (write-region nil nil document nil 'quiet)))))))

;;;; The run

(defmacro bridle-screen--with-emacs (daemon &rest body)
  "Run BODY while an Emacs before DAEMON runs in a terminal."
  (declare (indent 1))
  `(let* ((folder (bridle-test-daemon-folder ,daemon))
          (bridle-screen--socket (expand-file-name "tmux" folder))
          (setup (expand-file-name "setup.el" folder)))
     (with-temp-file setup
       (prin1 `(progn
                 (setq inhibit-startup-screen t make-backup-files nil create-lockfiles nil auto-save-default nil
                       user-emacs-directory ,(file-name-as-directory (expand-file-name "emacs.d" folder))
                       bridle-address ,(bridle-test-daemon-socket ,daemon) bridle-start-daemon nil
                       completion-auto-help t)
                 (menu-bar-mode -1)
                 (require 'bridle)
                 (with-current-buffer (get-buffer-create "notes") (insert "mine\n"))
                 (add-hook 'bridle-mode-hook
                           (lambda () (add-hook 'completion-at-point-functions
                                                #'bridle-completion-at-point nil t))))
              (current-buffer)))
     (unwind-protect
         (progn
           (bridle-screen--tmux "new-session" "-d" "-s" "t" "-x" "100" "-y" "44" "-c" folder
                                "emacs" "-nw" "-Q" "-L" (file-name-directory (locate-library "bridle")) "-l" setup)
           (bridle-screen--tmux "set-option" "-g" "status" "off")
           ,@body)
       (ignore-errors (bridle-screen--tmux "kill-server")))))

(ert-deftest bridle-screen-a-morning-in-emacs ()
  (let ((bridle-test-rules bridle-screen--rules))
    (bridle-test-with-daemon ()
      (let ((memex (expand-file-name "memex/" (bridle-test-daemon-folder daemon))))
        (with-temp-file (expand-file-name "garden.org" memex)
          (insert "* TODO Water the beds\n:PROPERTIES:\n:ID: beds\n:END:\nBefore noon.\n"
                  (format-time-string "* TODO Buy seeds\nSCHEDULED: <%F %a 09:30>\n")
                  (format-time-string "* TODO Pay the water\nDEADLINE: <%F %a>\n")))
        (bridle-test-wait-for-memory (bridle-test-session "other"))
        (bridle-screen--with-emacs daemon
          (bridle-screen--command "bridle")
          (bridle-screen--until "^ main  ·  idle")
          (bridle-screen--prompt)
          (bridle-screen--memory folder)
          (bridle-screen--eval folder)
          (bridle-screen--small-actions)
          (bridle-screen--lists folder)
          (bridle-screen--sensors memex))))))

(defun bridle-screen--prompt ()
  "Say something, hear the answer, have a turn given up."
  (bridle-screen--say "what should I do today?")
  (bridle-screen--until "A friendly link")
  (bridle-screen--until "demo/tiny  ·  cost unknown")
  (bridle-screen--say "slow stream")
  (bridle-screen--until "bridle …")
  (bridle-screen--until "\\*\\* bridle \\[.*\\]\npiece by piece\nand stream")
  (bridle-screen--say "wait long")
  (bridle-screen--until "thinking")
  (bridle-screen--keys "C-c" "C-k")
  (bridle-screen--until ": cancelled: "))

(defun bridle-screen--memory (folder)
  "Allow a change of the memory, from the list; FOLDER is that of the daemon."
  (bridle-screen--keys "M-:")
  (bridle-screen--type "(progn (bridle-leave) (delete-other-windows) (bridle))")
  (bridle-screen--keys "Enter")
  (bridle-screen--keys "C-x" "1")
  (bridle-screen--until "\\` main  ·  idle")
  (bridle-screen--say "the beds are watered")
  (bridle-screen--until "1 waiting for you")
  (bridle-screen--until "a allow, A always")
  (bridle-screen--compare "question" (bridle-screen--text) folder)
  (bridle-screen--command "bridle-approvals")
  (bridle-screen--until "^ *Question +Session")
  (bridle-screen--keys "C-x" "1")
  (bridle-screen--compare "list" (bridle-screen--until "^ main-[0-9]+ +main +caution") folder)
  (bridle-screen--keys "a")
  (bridle-screen--until "Exactly:")
  (bridle-screen--keys "C-x" "1")
  (let ((text (bridle-screen--until "From now on, with a time and after a preview")))
    ;; What is wanted, to the letter, has hashes of the day.
    (bridle-screen--compare "in-full" (substring text 0 (string-match "\n\nExactly:" text)) folder))
  (bridle-screen--keys "a")
  (bridle-screen--command "bridle")
  (bridle-screen--keys "C-x" "1")
  (bridle-screen--until "^Noted\\.")
  (bridle-screen--go "^- =main-[0-9]+=: done")
  (bridle-screen--keys "C-c" "C-y")
  (bridle-screen--until "reason: ")
  (bridle-screen--keys "C-x" "1"))

(defun bridle-screen--eval (folder)
  "Have code run that was allowed with a key of the transcript; FOLDER is the daemon's."
  (bridle-screen--say "how many buffers?")
  (bridle-screen--until "1 waiting for you")
  (bridle-screen--go "^\\*\\* TODO =main-[0-9]+= asks")
  (bridle-screen--keys "a")
  (bridle-screen--keys "M->")
  (bridle-screen--until "It says 3\\.")
  (let ((text (bridle-screen--until "^\\* Prompt")))
    (string-match "^\\* how many buffers" text)
    (bridle-screen--compare "eval" (substring text (match-beginning 0)) folder)))

(defun bridle-screen--small-actions ()
  "A message, completions, text in a buffer, properties of a heading."
  (bridle-screen--say "ring the bell")
  (bridle-screen--until "^main: the bell")
  (bridle-screen--until "^rung$")
  (bridle-screen--say "offer defun")
  (bridle-screen--until "^offered$")
  (bridle-screen--keys "M->")
  (bridle-screen--type "defu")
  (bridle-screen--type "n")
  ;; First what all have in common, then the list.
  (bridle-screen--keys "Tab")
  (bridle-screen--until "^defun-$")
  (bridle-screen--keys "Tab")
  (bridle-screen--until "^defun-one *\\(?:\n\\| \\)defun-two")
  (bridle-screen--keys "C-g")
  (bridle-screen--keys "M-:")
  (bridle-screen--type "(progn (delete-region bridle-org--prompt (point-max)) (delete-other-windows))")
  (bridle-screen--keys "Enter")
  (bridle-screen--say "insert yours")
  ;; The guard asks, then this editor with its diff.
  (bridle-screen--until "1 waiting for you")
  (bridle-screen--go "^\\*\\* TODO =main-[0-9]+= asks")
  (bridle-screen--keys "Enter")
  (bridle-screen--until "Exactly:")
  (bridle-screen--keys "a")
  (bridle-screen--command "bridle")
  (bridle-screen--keys "C-x" "1")
  (bridle-screen--until "asks (this editor)")
  (bridle-screen--go "^\\*\\* TODO =main-[0-9]+= asks (this editor)")
  (bridle-screen--until "^\\+yours$")
  (bridle-screen--keys "a")
  (bridle-screen--keys "M->")
  (bridle-screen--until "^inserted$")
  (bridle-screen--keys "M-:")
  (bridle-screen--type "(message \"notes: %S\" (with-current-buffer \"notes\" (buffer-string)))")
  (bridle-screen--keys "Enter")
  (bridle-screen--until "mine\\(?:.\\|\n\\)*yours")
  (bridle-screen--keys "C-x" "1"))

(defun bridle-screen--lists (folder)
  "The agenda and a search, as lists; FOLDER is the daemon's."
  (bridle-screen--command "bridle-agenda")
  (bridle-screen--until "Buy seeds")
  (bridle-screen--keys "C-x" "1")
  (bridle-screen--compare "agenda" (bridle-screen--text) folder)
  (bridle-screen--command "bridle-search")
  (bridle-screen--type "beds")
  (bridle-screen--keys "Enter")
  (bridle-screen--until "DONE +Water the beds")
  (bridle-screen--keys "Enter")
  (bridle-screen--until "^Before noon\\.")
  (bridle-screen--keys "C-x" "1"))

(defun bridle-screen--sensors (memex)
  "Edit a file of MEMEX; the record has what an idle Emacs tells."
  (bridle-screen--command "bridle-sense-mode")
  (bridle-screen--keys "C-x" "C-f")
  (bridle-screen--type (concat memex "garden.org"))
  (bridle-screen--keys "Enter")
  (bridle-screen--keys "M-<" "C-e" "Enter")
  (bridle-screen--type "Not at night.")
  (let ((session (bridle-test-session "main")))
    (dolist (wanted '(":sensor :buffer-update .*:state :modified :changes ((:begin 1 [^|]*Not at night"
                      ":sensor :focus " ":sensor :point-update "))
      (bridle-test-until (cl-some (lambda (body) (string-match-p wanted body))
                                  (bridle-screen--record session))))
    ;; With unsaved text the heading is changed in the buffer, after a yes to its diff.
    (bridle-screen--keys "C-x" "C-s")
    (bridle-test-until (cl-some (lambda (body) (string-match-p ":sensor :buffer-update .*:state :saved" body))
                                (bridle-screen--record session)))))

(provide 'bridle-screen-test)
;;; bridle-screen-test.el ends here
