;;; bridle-peer.el --- A peer for bridle's tests, as Emacs sees the protocol  -*- lexical-binding: t; -*-

;; Written from the protocol's prose, with Emacs's own `read' and `prin1': no code is shared with bridle.
;; The tests run it as a client and as a filter; run-vectors.el loads it as a library.
;;
;; From the repository root (Emacs 28 or later, no packages):
;;
;;   emacs -Q --batch -l peers/emacs/bridle-peer.el -f bridle-peer-main -- talk PORT [OPTIONS]
;;   emacs -Q --batch -l peers/emacs/bridle-peer.el -f bridle-peer-main -- encode|decode [OPTIONS]
;;
;;   talk     forms on stdin are sent in order, the hello and one answer for each are printed
;;   encode   forms on stdin, frames on stdout
;;   decode   frames on stdin, forms on stdout
;;
;;   --unit chars|bytes   what a length counts (default chars)
;;   --key TEXT           sign and verify with HMAC v1
;;   --upper              write upper-case digits
;;   --pipeline           talk: send everything, then read the answers
;;   --fragment N         talk: write N bytes at a time
;;
;; and its own tests:
;;
;;   emacs -Q --batch -l peers/emacs/bridle-peer.el -f ert-run-tests-batch-and-exit

;;; Code:

(require 'cl-lib)
(require 'ert)

(define-error 'bridle-peer-bad-frame "Bad frame")

(cl-defstruct (bridle-peer (:constructor bridle-peer-create))
  "How one side of a connection writes and reads frames."
  (unit 'chars :documentation "What a length counts: `chars' or `bytes'.")
  (key nil :documentation "A unibyte string to sign with, or nil.")
  (sign-characters nil
                   :documentation "Sign one octet a character, as the oldest Lisp peers do, not UTF-8.
The symbol `either' writes UTF-8 and reads both.")
  (upper nil :documentation "Write upper-case digits."))

(defconst bridle-peer-timeout 60
  "Seconds to wait for an answer: a daemon that does not answer fails the test and does not hang it.")

;;; Signatures

(defun bridle-peer-hmac (key octets)
  "Return 64 lower-case digits: HMAC-SHA256 of OCTETS under KEY, both unibyte strings."
  (let* ((key (if (> (length key) 64) (secure-hash 'sha256 key nil nil t) key))
         (key (concat key (make-string (- 64 (length key)) 0)))
         (pad (lambda (octet) (apply #'unibyte-string (mapcar (lambda (byte) (logxor byte octet)) key)))))
    (secure-hash 'sha256
                 (concat (funcall pad #x5c)
                         (secure-hash 'sha256 (concat (funcall pad #x36) octets) nil nil t)))))

(defun bridle-peer--utf-8 (text)
  (encode-coding-string text 'utf-8-unix t))

(defun bridle-peer--sign (peer text &optional characters)
  (bridle-peer-hmac (bridle-peer-key peer)
                    (if (or characters (eq t (bridle-peer-sign-characters peer)))
                        (encode-coding-string text 'latin-1-unix t)
                      (bridle-peer--utf-8 text))))

(defun bridle-peer--signed-p (peer seal text)
  (or (string= (downcase seal) (bridle-peer--sign peer text))
      (and (eq 'either (bridle-peer-sign-characters peer))
           (seq-every-p (lambda (character) (< character 256)) text)
           (string= (downcase seal) (bridle-peer--sign peer text t)))))

;;; Frames

(defun bridle-peer-frame (peer text)
  "Return the octets of a frame that carries TEXT."
  (let* ((octets (bridle-peer--utf-8 text))
         (size (if (eq (bridle-peer-unit peer) 'bytes) (length octets) (length text))))
    (when (> size #xffffff)
      (signal 'bridle-peer-bad-frame (list "does not fit six digits" size)))
    (concat (format (if (bridle-peer-upper peer) "%06X" "%06x") size)
            (if (bridle-peer-key peer) (bridle-peer--sign peer text) "")
            octets)))

(defun bridle-peer-unframe (peer)
  "Take the next frame of the current buffer and return its text.
Return nil, and take nothing but blanks, when the buffer holds no whole frame yet.  A buffer of a peer that counts
characters is multibyte and holds decoded text; that of one that counts bytes is unibyte."
  (goto-char (point-min))
  (skip-chars-forward " \t\r\n")
  (delete-region (point-min) (point))
  (when (>= (buffer-size) 6)
    (let ((case-fold-search t)
          (seal (if (bridle-peer-key peer) 64 0)))
      (unless (looking-at "[0-9a-f]\\{6\\}")
        (signal 'bridle-peer-bad-frame (list "no length" (buffer-substring 1 7))))
      (let* ((size (string-to-number (match-string 0) 16))
             (start (+ 7 seal))
             (end (+ start size)))
        (when (zerop size)
          (signal 'bridle-peer-bad-frame (list "empty")))
        (when (<= end (point-max))
          (prog1 (bridle-peer--text peer (buffer-substring-no-properties 7 start)
                                    (buffer-substring-no-properties start end))
            (delete-region (point-min) end)))))))

(defun bridle-peer--text (peer seal payload)
  "Return the text of PAYLOAD after checking it against SEAL."
  (let ((text (if (multibyte-string-p payload) payload (decode-coding-string payload 'utf-8-unix))))
    (unless (string= (bridle-peer--utf-8 text)
                     (if (multibyte-string-p payload) (bridle-peer--utf-8 payload) payload))
      (signal 'bridle-peer-bad-frame (list "not UTF-8")))
    (when (string-match-p "[\x3fff80-\x3fffff]" text)
      (signal 'bridle-peer-bad-frame (list "not UTF-8")))
    (when (bridle-peer-key peer)
      (unless (bridle-peer--signed-p peer seal text)
        (signal 'bridle-peer-bad-frame (list "wrong signature"))))
    text))

(defun bridle-peer-fill (peer octets)
  "Make the current buffer hold OCTETS as PEER's reader sees them."
  (set-buffer-multibyte (eq (bridle-peer-unit peer) 'chars))
  (insert (if (eq (bridle-peer-unit peer) 'chars) (decode-coding-string octets 'utf-8-unix) octets)))

;;; Messages

(defun bridle-peer-read (text)
  "Return the first form of TEXT and the index after it."
  (read-from-string text))

(defun bridle-peer-print (form)
  "Return FORM as one text that `read' reads back."
  (let ((print-length nil) (print-level nil) (print-circle nil) (print-gensym t)
        (print-escape-newlines nil) (print-quoted nil))
    (prin1-to-string form)))

(defun bridle-peer-get (plist key)
  "Return the value after the first keyword of PLIST that is KEY, whatever its case."
  (let (found)
    (while (and (not found) (consp plist) (consp (cdr plist)))
      (when (and (keywordp (car plist))
                 (eq t (compare-strings (symbol-name (car plist)) nil nil (symbol-name key) nil nil t)))
        (setq found plist))
      (setq plist (cddr plist)))
    (cadr found)))

(defun bridle-peer-hello (unit)
  "Return a client's hello that says what a length counts."
  `(:type :EVENT :payload (:action :handshake :version "0.3.0" :capabilities (:org-ast)
                                   :length ,(if (eq unit 'bytes) :bytes :chars))))

;;; A connection

(defun bridle-peer-connect (peer port)
  "Return a process connected to PORT of this machine; its buffer fills as PEER's reader needs it."
  (let ((buffer (generate-new-buffer " *bridle-peer*"))
        (chars (eq (bridle-peer-unit peer) 'chars)))
    (with-current-buffer buffer (set-buffer-multibyte chars))
    (make-network-process :name "bridle-peer" :buffer buffer :host "127.0.0.1" :service port
                          :coding (cons (if chars 'utf-8-unix 'binary) 'binary)
                          :filter #'bridle-peer--filter :sentinel #'ignore :noquery t)))

(defun bridle-peer--filter (process text)
  (with-current-buffer (process-buffer process)
    (goto-char (point-max))
    (insert text)))

(defun bridle-peer-receive (peer process)
  "Return the next message that PROCESS sends."
  (let ((deadline (+ (float-time) bridle-peer-timeout)) text)
    (while (not (setq text (with-current-buffer (process-buffer process) (bridle-peer-unframe peer))))
      (when (> (float-time) deadline) (error "No answer within %d seconds" bridle-peer-timeout))
      (unless (accept-process-output process 1)
        (unless (process-live-p process) (error "The daemon closed the connection before its answer"))))
    (car (bridle-peer-read text))))

(defun bridle-peer-send (peer process form &optional fragment)
  "Send FORM, FRAGMENT octets at a time if it is given."
  (let ((octets (bridle-peer-frame peer (bridle-peer-print form)))
        (at 0))
    (if (not fragment)
        (process-send-string process octets)
      (while (< at (length octets))
        (let ((next (min (length octets) (+ at fragment))))
          (process-send-string process (substring octets at next))
          (setq at next))))))

(defun bridle-peer-talk (peer port forms &optional pipeline fragment)
  "Send FORMS to PORT and print the hello and one answer for each."
  (let ((process (bridle-peer-connect peer port)))
    (unwind-protect
        (progn
          (bridle-peer--say (bridle-peer-receive peer process))
          (dolist (form forms)
            (bridle-peer-send peer process form fragment)
            (unless pipeline (bridle-peer--say (bridle-peer-receive peer process))))
          (when pipeline
            (dotimes (_ (length forms)) (bridle-peer--say (bridle-peer-receive peer process)))))
      (delete-process process))))

;;; Command line

(defun bridle-peer--say (form)
  (princ (concat (bridle-peer-print form) "\n")))

(defun bridle-peer--stdin ()
  "Return the octets of standard input."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally "/dev/stdin")
    (buffer-string)))

(defun bridle-peer--forms (octets)
  "Return every form in OCTETS."
  (with-temp-buffer
    (insert (decode-coding-string octets 'utf-8-unix))
    (goto-char (point-min))
    (let (forms)
      (while (progn (skip-chars-forward " \t\r\n") (not (eobp)))
        (push (read (current-buffer)) forms))
      (nreverse forms))))

(defun bridle-peer--encode (peer)
  (let ((coding-system-for-write 'no-conversion))
    (write-region (mapconcat (lambda (form) (bridle-peer-frame peer (bridle-peer-print form)))
                             (bridle-peer--forms (bridle-peer--stdin)) "")
                  nil "/dev/stdout" t 'silent)))

(defun bridle-peer--decode (peer)
  (with-temp-buffer
    (bridle-peer-fill peer (bridle-peer--stdin))
    (let (text)
      (while (setq text (bridle-peer-unframe peer))
        (bridle-peer--say (car (bridle-peer-read text)))))
    (unless (zerop (buffer-size)) (error "The input ends inside a frame"))))

(defun bridle-peer--option (name)
  (cadr (member name command-line-args-left)))

(defun bridle-peer-main ()
  "Do what the command line after `--' says."
  (pcase-let* ((`(,command ,port) (seq-take (delete "--" (copy-sequence command-line-args-left)) 2))
               (key (bridle-peer--option "--key"))
               (fragment (bridle-peer--option "--fragment"))
               (pipeline (member "--pipeline" command-line-args-left))
               (peer (bridle-peer-create :unit (intern (or (bridle-peer--option "--unit") "chars"))
                                         :key (and key (bridle-peer--utf-8 key))
                                         :upper (member "--upper" command-line-args-left))))
    (setq command-line-args-left nil)
    (pcase command
      ("talk" (bridle-peer-talk peer (string-to-number port) (bridle-peer--forms (bridle-peer--stdin))
                                pipeline (and fragment (string-to-number fragment))))
      ("encode" (bridle-peer--encode peer))
      ("decode" (bridle-peer--decode peer))
      (_ (error "Expected talk, encode or decode, got %S" command)))))

;;; Tests of this file

(defconst bridle-peer-tests--text "(:text \"سلام 你好 😀\")")

(ert-deftest bridle-peer-test-hmac ()
  "The second test case of RFC 4231, and a key longer than a block."
  (should (string= (bridle-peer-hmac "Jefe" "what do ya want for nothing?")
                   "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
  (should (string= (bridle-peer-hmac (apply #'unibyte-string (make-list 131 #xaa))
                                     "Test Using Larger Than Block-Size Key - Hash Key First")
                   "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")))

(ert-deftest bridle-peer-test-round-trip ()
  "Frames of either unit, signed or not, read back, one after another and with blanks between."
  (dolist (unit '(chars bytes))
    (dolist (key '(nil "secret"))
      (let ((peer (bridle-peer-create :unit unit :key key)))
        (with-temp-buffer
          (bridle-peer-fill peer (concat (bridle-peer-frame peer bridle-peer-tests--text) " \n\t\r"
                                         (bridle-peer-frame peer "(a)")))
          (should (string= (bridle-peer-unframe peer) bridle-peer-tests--text))
          (should (string= (bridle-peer-unframe peer) "(a)"))
          (should-not (bridle-peer-unframe peer)))))))

(ert-deftest bridle-peer-test-units ()
  (should (string-prefix-p "000013" (bridle-peer-frame (bridle-peer-create) bridle-peer-tests--text)))
  (should (string-prefix-p "00001e" (bridle-peer-frame (bridle-peer-create :unit 'bytes) bridle-peer-tests--text)))
  (should (string-prefix-p "00000C(" (bridle-peer-frame (bridle-peer-create :upper t) "(:text \"ab\")"))))

(ert-deftest bridle-peer-test-refusals ()
  (dolist (octets '("00000g(a)" "000000" "+00003(a)"))
    (with-temp-buffer
      (bridle-peer-fill (bridle-peer-create :unit 'bytes) octets)
      (should-error (bridle-peer-unframe (bridle-peer-create :unit 'bytes)) :type 'bridle-peer-bad-frame)))
  (let ((peer (bridle-peer-create :key "secret")))
    (with-temp-buffer
      (bridle-peer-fill peer (concat "000003" (make-string 64 ?0) "(a)"))
      (should-error (bridle-peer-unframe peer) :type 'bridle-peer-bad-frame))))

(ert-deftest bridle-peer-test-get ()
  (should (eq (bridle-peer-get '(:TYPE :EVENT :type :LOG) :type) :EVENT))
  (should-not (bridle-peer-get '(:a 1 :b) :b)))

(provide 'bridle-peer)
;;; bridle-peer.el ends here
