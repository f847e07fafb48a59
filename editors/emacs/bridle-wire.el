;;; bridle-wire.el --- Frames, signatures and connections of bridle  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; One connection to a daemon that is kept up: made, greeted, lost, made again.  Nothing here waits.
;; What a process sends is put into a buffer by its filter and nothing more; a timer takes frames out
;; of it, a few milliseconds at a time, and the filter is turned off while too much lies there.  What is
;; sent goes out in slices, and after each 64 KiB only when the daemon has answered a health check, so
;; that a daemon that does not read cannot hold Emacs up.  Called by bridle-session.el.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'bridle-read)

(defgroup bridle nil
  "An agent that asks before it acts."
  :group 'tools
  :prefix "bridle-")

(defcustom bridle-wire-log-events t
  "Whether the heads of messages are kept in the buffer `*bridle-events*'."
  :group 'bridle
  :type 'boolean)

(defcustom bridle-gc-cons-threshold (* 128 1024 1024)
  "Bytes that may be allocated between two garbage collections under load.
While much comes in, Emacs collects at this threshold, and at its own
again once nothing came for a second: a collection stops Emacs for
longer than all that this package does.  Nil leaves Emacs as it is."
  :group 'bridle
  :type '(choice (const :tag "Leave it alone" nil) integer))

(defconst bridle-wire-max-frame 262144
  "Bytes that the daemon may put into one frame for us.")

(defconst bridle-wire-max-message (* 8 1024 1024)
  "Characters of a message in parts that are put together; more is left out.")

(defconst bridle-wire--tick-seconds 0.006
  "Seconds of work in one go.")

(defconst bridle-wire--tick-pause 0.002
  "Seconds until the next go: keys and other processes come first.")

(defconst bridle-wire--high-water (* 1024 1024)
  "Bytes that may lie unread before the process is not listened to.")

(defconst bridle-wire--low-water (* 256 1024)
  "Bytes that may lie unread when the process is listened to again.")

(defconst bridle-wire--slice 16384
  "Bytes given to the system at once.")

(defconst bridle-wire--window 65536
  "Bytes sent before the daemon must show that it reads.")

(defconst bridle-wire--max-queued (* 64 1024 1024)
  "Bytes that may wait to be sent.")

(defconst bridle-wire--greeting-seconds 20
  "Seconds for a connection to stand and be greeted.")

(defconst bridle-wire--frame-seconds 30
  "Seconds without a byte inside of a frame.")

(defconst bridle-wire--longest-pause 15
  "Seconds between attempts to connect, at most.")

(defconst bridle-wire--log-size 131072
  "Characters that the events buffer may have.")

(defvar bridle-wire--usual-threshold nil
  "Value of `gc-cons-threshold' while another one holds, else nil.")

(defvar bridle-wire--last-input 0
  "When something came in last, on any connection.")

(defun bridle-wire--hold-garbage ()
  "Have garbage collected later, as long as something comes in."
  (setq bridle-wire--last-input (float-time))
  (when (and bridle-gc-cons-threshold (not bridle-wire--usual-threshold)
             (< gc-cons-threshold bridle-gc-cons-threshold))
    (setq bridle-wire--usual-threshold gc-cons-threshold
          gc-cons-threshold bridle-gc-cons-threshold)
    (run-at-time 1 nil #'bridle-wire--release-garbage)))

(defun bridle-wire--release-garbage ()
  "Have garbage collected as usual, once nothing came in for a second."
  (if (< (- (float-time) bridle-wire--last-input) 1)
      (run-at-time 1 nil #'bridle-wire--release-garbage)
    ;; Whoever set it meanwhile knows better.
    (when (eql gc-cons-threshold bridle-gc-cons-threshold)
      (setq gc-cons-threshold bridle-wire--usual-threshold))
    (setq bridle-wire--usual-threshold nil)))

(cl-defstruct (bridle-wire (:constructor bridle-wire--make) (:copier nil))
  "A connection that is kept up.
ADDRESS is HOST:PORT or the path of a socket.  HELLO is called with
the daemon's payload and gives the payload of ours.  TAKE is called
with each message, DOWN with the reason when a connection is gone."
  address hello take down
  (key-id nil) (secret nil)
  process (state 'closed) input work reader (offset 0)
  parts tick retry watch (attempts 0) paused
  (peer-max bridle-wire-max-frame) can-parts
  queue (queued 0) (in-flight 0) pinging send-tick
  server-nonce client-nonce signer (sent 0) (heard 0) (last-byte 0)
  last-error)

(cl-defun bridle-wire-open (address &key hello take down key-id secret)
  "Return a connection to ADDRESS that is kept up until it is closed.
HELLO, TAKE and DOWN are as in `bridle-wire'.  With KEY-ID and SECRET
frames are signed."
  (let ((wire (bridle-wire--make :address address :hello hello :take take :down down
                                 :key-id key-id :secret secret)))
    (bridle-wire--connect wire)
    wire))

(defun bridle-wire-close (wire)
  "End WIRE for good."
  (setf (bridle-wire-state wire) 'ended)
  (bridle-wire--cancel wire)
  (bridle-wire--drop-process wire))

(defun bridle-wire-is-up (wire)
  "Whether WIRE has been greeted."
  (eq (bridle-wire-state wire) 'open))

;;;; Connecting

(defun bridle-wire--connect (wire)
  "Begin a connection of WIRE; come back later when that fails."
  (setf (bridle-wire-retry wire) nil)
  (condition-case err
      (let ((process (bridle-wire--dial (bridle-wire-address wire))))
        (process-put process 'bridle-wire wire)
        (setf (bridle-wire-process wire) process
              (bridle-wire-state wire) 'connecting
              (bridle-wire-last-byte wire) (float-time)
              (bridle-wire-input wire) (bridle-wire--buffer " *bridle-input*" nil)
              (bridle-wire-work wire) (bridle-wire--buffer " *bridle-work*" t))
        (set-process-sentinel process #'bridle-wire--sentinel)
        (set-process-filter process #'bridle-wire--filter)
        (setf (bridle-wire-watch wire)
              (run-at-time 5 5 #'bridle-wire--look-after wire)))
    (error (bridle-wire--lost wire (bridle-wire--reason (error-message-string err))))))

(defun bridle-wire--reason (text)
  "Return what TEXT, an error of Emacs about a connection, says to people."
  (if (string-match "\\`make client process failed: \\([^,]+\\)" text)
      (let ((why (match-string 1 text)))
        (if (member (downcase why) '("no such file or directory" "connection refused"))
            "no daemon there"
          (downcase why)))
    text))

(defun bridle-wire--dial (address)
  "Return a process that connects to ADDRESS without waiting for it."
  (let ((common (list :name "bridle" :noquery t :coding 'binary :buffer nil)))
    (if (string-prefix-p "/" address)
        (apply #'make-network-process :family 'local :service address common)
      (unless (string-match "\\`\\(.+\\):\\([0-9]+\\)\\'" address)
        (error "Not an address: %s" address))
      (apply #'make-network-process :host (string-trim (match-string 1 address) "\\[" "\\]")
             :service (string-to-number (match-string 2 address)) :nowait t :nodelay t common))))

(defun bridle-wire--buffer (name is-multibyte)
  "Return a new buffer NAME, for characters if IS-MULTIBYTE, else for bytes."
  (let ((buffer (generate-new-buffer name t)))
    (with-current-buffer buffer
      (buffer-disable-undo)
      (set-buffer-multibyte is-multibyte))
    buffer))

(defun bridle-wire--sentinel (process event)
  "Take note that the state of PROCESS changed to EVENT."
  (let ((wire (process-get process 'bridle-wire)))
    (when (and wire (eq process (bridle-wire-process wire))
               (not (string-prefix-p "open" event)))
      ;; What lies in the buffer was sent before the end; it is taken first.
      (if (bridle-wire--has-input wire)
          (progn (setf (bridle-wire-last-error wire) (string-trim event))
                 (bridle-wire--schedule wire))
        (bridle-wire--lost wire (string-trim event))))))

(defun bridle-wire--has-input (wire)
  "Whether bytes of WIRE wait to be taken."
  (and (buffer-live-p (bridle-wire-input wire))
       (or (bridle-wire-reader wire)
           (bridle-wire--next-end wire))))

(defun bridle-wire--lost (wire reason)
  "The connection of WIRE is gone because of REASON: come back later."
  (unless (eq (bridle-wire-state wire) 'ended)
    (bridle-wire--cancel wire)
    (bridle-wire--drop-process wire)
    (setf (bridle-wire-state wire) 'closed
          (bridle-wire-last-error wire) reason)
    (bridle-wire-note "--" (format "down: %s" reason))
    (let* ((attempt (cl-incf (bridle-wire-attempts wire)))
           (pause (min bridle-wire--longest-pause (* 0.05 (expt 2 (min attempt 12))))))
      (setf (bridle-wire-retry wire)
            (run-at-time (* pause (+ 0.5 (/ (random 1000) 2000.0))) nil #'bridle-wire--connect wire)))
    (funcall (bridle-wire-down wire) reason)))

(defun bridle-wire-retry-now (wire)
  "Connect WIRE at once if it waits to."
  (when (timerp (bridle-wire-retry wire))
    (cancel-timer (bridle-wire-retry wire))
    (bridle-wire--connect wire)))

(defun bridle-wire-attached (wire)
  "Tell WIRE that it does what it is for: its next loss is a first one."
  (setf (bridle-wire-attempts wire) 0))

(defun bridle-wire--cancel (wire)
  "End the timers of WIRE."
  (dolist (timer (list (bridle-wire-tick wire) (bridle-wire-retry wire)
                       (bridle-wire-watch wire) (bridle-wire-send-tick wire)))
    (when (timerp timer) (cancel-timer timer)))
  (setf (bridle-wire-tick wire) nil (bridle-wire-retry wire) nil
        (bridle-wire-watch wire) nil (bridle-wire-send-tick wire) nil))

(defun bridle-wire--drop-process (wire)
  "Forget all that belongs to the present connection of WIRE."
  (let ((process (bridle-wire-process wire)))
    (setf (bridle-wire-process wire) nil)
    (when (process-live-p process)
      (set-process-sentinel process #'ignore)
      (set-process-filter process #'ignore)
      (delete-process process)))
  (dolist (buffer (append (list (bridle-wire-input wire) (bridle-wire-work wire))
                          (mapcar (lambda (part) (plist-get (cdr part) :buffer))
                                  (bridle-wire-parts wire))))
    (when (buffer-live-p buffer) (kill-buffer buffer)))
  (setf (bridle-wire-input wire) nil (bridle-wire-work wire) nil
        (bridle-wire-reader wire) nil (bridle-wire-offset wire) 0
        (bridle-wire-parts wire) nil (bridle-wire-paused wire) nil
        (bridle-wire-queue wire) nil (bridle-wire-queued wire) 0
        (bridle-wire-in-flight wire) 0 (bridle-wire-pinging wire) nil
        (bridle-wire-signer wire) nil (bridle-wire-sent wire) 0 (bridle-wire-heard wire) 0))

(defun bridle-wire--look-after (wire)
  "Give WIRE up when it stopped inside of something that should end."
  (let ((silence (- (float-time) (bridle-wire-last-byte wire))))
    (cond
     ((bridle-wire-paused wire))
     ((and (memq (bridle-wire-state wire) '(connecting greeted))
           (> silence bridle-wire--greeting-seconds))
      (bridle-wire--lost wire "no greeting"))
     ((and (buffer-live-p (bridle-wire-input wire))
           (> (bridle-wire--waiting wire) 0)
           (> silence bridle-wire--frame-seconds))
      (bridle-wire--lost wire "stopped inside of a frame"))
     ((and (bridle-wire-pinging wire) (> silence (* 2 bridle-wire--frame-seconds)))
      (bridle-wire--lost wire "the daemon does not read")))))

;;;; Bytes in

(defun bridle-wire--filter (process bytes)
  "Keep the BYTES of PROCESS; a timer looks at them."
  (let ((wire (process-get process 'bridle-wire)))
    (when (and wire (eq process (bridle-wire-process wire)))
      (with-current-buffer (bridle-wire-input wire)
        (goto-char (point-max))
        (insert bytes))
      (setf (bridle-wire-last-byte wire) (float-time))
      (bridle-wire--hold-garbage)
      (when (> (bridle-wire--waiting wire) bridle-wire--high-water)
        ;; With the filter t Emacs does not read; the daemon waits.
        (setf (bridle-wire-paused wire) t)
        (set-process-filter process t))
      (bridle-wire--schedule wire 0))))

(defun bridle-wire--waiting (wire)
  "Return how many bytes of WIRE wait to be taken."
  (- (buffer-size (bridle-wire-input wire)) (bridle-wire-offset wire)))

(defun bridle-wire--schedule (wire &optional pause)
  "Have WIRE looked at after PAUSE seconds, or a moment."
  (unless (bridle-wire-tick wire)
    (setf (bridle-wire-tick wire)
          (run-at-time (or pause bridle-wire--tick-pause) nil #'bridle-wire--tick wire))))

(defun bridle-wire--tick (wire)
  "Take messages of WIRE for a few milliseconds."
  (setf (bridle-wire-tick wire) nil)
  (let ((deadline (+ (float-time) bridle-wire--tick-seconds)) (has-more t))
    (condition-case err
        (while (and has-more (< (float-time) deadline))
          (setq has-more (bridle-wire--advance wire deadline)))
      (bridle-read-error (bridle-wire--unreadable wire err))
      (bridle-wire-error (bridle-wire--lost wire (cadr err)) (setq has-more nil)))
    (when (buffer-live-p (bridle-wire-input wire))
      (bridle-wire--listen-again wire)
      (cond
       (has-more (bridle-wire--schedule wire))
       ((not (process-live-p (bridle-wire-process wire)))
        (bridle-wire--lost wire (or (bridle-wire-last-error wire) "closed")))))))

(define-error 'bridle-wire-error "The connection cannot go on")

(defun bridle-wire--fail (reason)
  "Give the connection up because of REASON."
  (signal 'bridle-wire-error (list reason)))

(defun bridle-wire--listen-again (wire)
  "Listen to the process of WIRE again when little waits."
  (when (and (bridle-wire-paused wire)
             (< (bridle-wire--waiting wire) bridle-wire--low-water))
    (setf (bridle-wire-paused wire) nil
          (bridle-wire-last-byte wire) (float-time))
    (when (process-live-p (bridle-wire-process wire))
      (set-process-filter (bridle-wire-process wire) #'bridle-wire--filter))))

(defun bridle-wire--advance (wire deadline)
  "Do one thing for WIRE, until DEADLINE; return nil when nothing is left."
  (if (bridle-wire-reader wire)
      (let ((form (bridle-reader-step (bridle-wire-reader wire) deadline)))
        (when form
          (setf (bridle-wire-reader wire) nil)
          (bridle-wire--take wire (car form)))
        (buffer-live-p (bridle-wire-input wire)))
    (and (buffer-live-p (bridle-wire-input wire))
         (bridle-wire--take-frame wire))))

(defun bridle-wire--next-end (wire)
  "Return where the next frame of WIRE begins and ends, if it is all there.
The value is (PAYLOAD . END), or nil while bytes are missing."
  (with-current-buffer (bridle-wire-input wire)
    (goto-char (1+ (bridle-wire-offset wire)))
    (let ((from (point)))
      (skip-chars-forward " \t\r\n")
      (when (> (- (point) from) 65536) (bridle-wire--fail "too many blanks"))
      (let* ((start (point))
             (head (buffer-substring start (min (+ start 6) (point-max)))))
        (unless (string-match-p "\\`[0-9a-fA-F]*\\'" head)
          (bridle-wire--fail "bad header"))
        (when (= (length head) 6)
          (let* ((length (string-to-number head 16))
                 (payload (+ start 6 (if (bridle-wire-secret wire) 64 0)))
                 (end (+ payload length)))
            (when (> length bridle-wire-max-frame) (bridle-wire--fail "frame too large"))
            (when (<= end (point-max)) (cons payload end))))))))

(defun bridle-wire--take-frame (wire)
  "Begin to read the next frame of WIRE; return nil when it is not there."
  (pcase (bridle-wire--next-end wire)
    (`(,payload . ,end)
     (let ((bytes (with-current-buffer (bridle-wire-input wire)
                    (buffer-substring payload end))))
       (when (bridle-wire-secret wire)
         (bridle-wire--verify wire payload bytes))
       (bridle-wire--forget wire (1- end))
       (with-current-buffer (bridle-wire-work wire)
         (erase-buffer)
         ;; Into the buffer: one copy less.
         (decode-coding-string bytes 'utf-8-emacs-unix t (current-buffer)))
       (unless (= 0 (length bytes))
         (bridle-wire-note "<" (bridle-wire--head (bridle-wire-work wire)))
         (setf (bridle-wire-reader wire) (bridle-reader-start (bridle-wire-work wire))))
       t))))

(defun bridle-wire--head (buffer)
  "Return the first characters of BUFFER."
  (with-current-buffer buffer
    (buffer-substring-no-properties (point-min) (min (point-max) 400))))

(defun bridle-wire--forget (wire offset)
  "Note that all bytes of WIRE up to OFFSET are taken."
  (with-current-buffer (bridle-wire-input wire)
    (if (or (> offset bridle-wire--low-water) (= offset (buffer-size)))
        (progn (delete-region 1 (1+ offset))
               (setf (bridle-wire-offset wire) 0))
      (setf (bridle-wire-offset wire) offset))))

;;;; Messages

(defun bridle-wire--take (wire form)
  "Take the message FORM of WIRE."
  (cond
   ((not (bridle-plist-p form)) (bridle-wire-note "--" "not a property list"))
   ((bridle-get form :part) (bridle-wire--take-part wire form))
   ((not (memq (bridle-wire-state wire) '(open greeted))) (bridle-wire--greeted wire form))
   ((and (eq (bridle-wire-pinging wire) t)
         (equal (bridle-get-word form :type) "health-response"))
    (setf (bridle-wire-pinging wire) nil (bridle-wire-in-flight wire) 0)
    (bridle-wire--pump wire))
   (t (bridle-wire--hand-over wire form))))

(defun bridle-wire--hand-over (wire form)
  "Hand FORM to whoever opened WIRE; a fault there is not ours."
  (condition-case err
      (funcall (bridle-wire-take wire) form)
    ((bridle-wire-error bridle-read-error) (signal (car err) (cdr err)))
    (error (bridle-wire-note "--" (format "fault: %s" (error-message-string err))))))

(defun bridle-wire--unreadable (wire err)
  "Go on after a message of WIRE that was no form, for the reason in ERR."
  (let* ((buffer (bridle-reader-buffer (bridle-wire-reader wire)))
         (seq (bridle-wire--seq-in (bridle-wire--head buffer))))
    (setf (bridle-wire-reader wire) nil)
    (bridle-wire-note "--" (format "unreadable: %s" (cadr err)))
    (if (eq (bridle-wire-state wire) 'connecting)
        (bridle-wire--lost wire "the greeting cannot be read")
      (when seq
        (bridle-wire--hand-over
         wire `(:type :EVENT :meta (:seq ,seq) :payload (:action :unreadable))))
      (bridle-wire--schedule wire))))

(defun bridle-wire--seq-in (head)
  "Return the number of the event that begins with HEAD, or nil."
  (and (string-match ":meta ([^()\"]*\\(?:\"[^\"]*\"[^()\"]*\\)*:seq \\([0-9]\\{1,15\\}\\)" head)
       (string-to-number (match-string 1 head))))

(defun bridle-wire--take-part (wire form)
  "Keep the part FORM of WIRE; begin to read the message with its last one."
  (let* ((part (bridle-get form :part)) (data (bridle-get-string form :data))
         (id (bridle-get-string part :id)) (n (bridle-get-integer part :n))
         (of (bridle-get-integer part :of)) (known (assoc id (bridle-wire-parts wire))))
    (cond
     ((bridle-get part :abort) (when known (bridle-wire--drop-part wire known)))
     ((not (and id n of data (<= 1 n of 9999)))
      (bridle-wire--fail "a part without its number or data"))
     (t
      (unless known
        (when (>= (length (bridle-wire-parts wire)) 4)
          (bridle-wire--fail "too many messages in parts"))
        (setq known (list id :buffer (bridle-wire--buffer " *bridle-part*" t) :n 0 :of of :size 0))
        (push known (bridle-wire-parts wire)))
      (bridle-wire--add-part wire known n of data)))))

(defun bridle-wire--add-part (wire known n of data)
  "Add DATA, the part N of OF, to what is KNOWN of a message of WIRE."
  (let* ((facts (cdr known)) (buffer (plist-get facts :buffer))
         (size (+ (plist-get facts :size) (length data))))
    (unless (and (= of (plist-get facts :of)) (= n (1+ (plist-get facts :n))))
      (bridle-wire--fail "a part that contradicts those before it"))
    (plist-put facts :n n)
    (plist-put facts :size size)
    (with-current-buffer buffer
      (if (> size bridle-wire-max-message)
          (delete-region (min (point-max) 4096) (point-max))
        (goto-char (point-max))
        (insert data)))
    (when (= n of)
      (setf (bridle-wire-parts wire) (delq known (bridle-wire-parts wire)))
      (if (> size bridle-wire-max-message)
          (let ((seq (bridle-wire--seq-in (bridle-wire--head buffer))))
            (kill-buffer buffer)
            (when seq
              (bridle-wire--hand-over
               wire `(:type :EVENT :meta (:seq ,seq) :payload (:action :omitted :bytes ,size)))))
        (kill-buffer (bridle-wire-work wire))
        (setf (bridle-wire-work wire) buffer
              (bridle-wire-reader wire) (bridle-reader-start buffer))))))

(defun bridle-wire--drop-part (wire known)
  "Forget the message in parts that is KNOWN to WIRE."
  (kill-buffer (plist-get (cdr known) :buffer))
  (setf (bridle-wire-parts wire) (delq known (bridle-wire-parts wire))))

(defun bridle-wire--greeted (wire form)
  "Take the daemon's hello FORM of WIRE, and send ours."
  (let* ((payload (bridle-get form :payload))
         (limit (bridle-get-integer (bridle-get payload :limits) :max-frame)))
    (unless (equal (bridle-get-word payload :action) "handshake")
      (bridle-wire--fail (or (bridle-get-string payload :message) "no hello")))
    (setf (bridle-wire-state wire) 'greeted
          ;; Frames of our own stay small: a window is sent at once.
          (bridle-wire-peer-max wire) (min (if (and limit (> limit 1024)) limit 1024) 49152)
          (bridle-wire-can-parts wire) (memq :parts (bridle-get-list payload :capabilities)))
    (let ((auth (and (bridle-wire-secret wire) (bridle-wire--answer-nonce wire payload)))
          (hello (funcall (bridle-wire-hello wire) payload)))
      (setf (bridle-wire-state wire) 'open)
      (bridle-wire-send wire `(:type :EVENT :payload (,@hello ,@(and auth (list :auth auth))))))))

;;;; Bytes out

(defun bridle-wire-send (wire form)
  "Send FORM over WIRE as soon as the daemon takes it.
Return nil when it cannot be sent: nobody is there, or too much waits."
  (when (bridle-wire-is-up wire)
    (let* ((text (bridle-write form))
           (bytes (encode-coding-string text 'utf-8-unix))
           (most (bridle-wire-peer-max wire)))
      (bridle-wire-note ">" text)
      (cond
       ((> (+ (length bytes) (bridle-wire-queued wire)) bridle-wire--max-queued) nil)
       ((<= (length bytes) most) (bridle-wire--enqueue wire (list bytes)) t)
       ((bridle-wire-can-parts wire)
        (bridle-wire--enqueue wire (bridle-wire--cut-parts text most)) t)))))

(defun bridle-wire--cut-parts (text most)
  "Return TEXT as payloads of parts of at most MOST bytes."
  ;; A character has at most four bytes, a quote or backslash becomes two.
  (let* ((step (/ (- most 256) 4)) (of (ceiling (length text) step))
         (id (format "%x-%x" (random most-positive-fixnum) (length text))))
    (when (> of 9999) (error "A message of %d characters is too large" (length text)))
    (cl-loop for n from 1 to of
             for piece = (substring text (* (1- n) step) (min (* n step) (length text)))
             collect (encode-coding-string
                      (bridle-write `(:type :EVENT :part (:id ,id :n ,n :of ,of) :data ,piece))
                      'utf-8-unix))))

(defun bridle-wire--enqueue (wire payloads)
  "Have PAYLOADS, strings of bytes, sent over WIRE."
  (setf (bridle-wire-queue wire) (nconc (bridle-wire-queue wire) payloads))
  (dolist (payload payloads) (cl-incf (bridle-wire-queued wire) (length payload)))
  (bridle-wire--pump wire))

(defun bridle-wire--pump (wire)
  "Send what the window of WIRE allows."
  (let ((process (bridle-wire-process wire)) (budget bridle-wire--window))
    (while (and (bridle-wire-queue wire) (process-live-p process)
                (not (bridle-wire-pinging wire)) (> budget 0))
      (let ((bytes (pop (bridle-wire-queue wire))))
        (cl-decf (bridle-wire-queued wire) (length bytes))
        (cl-decf budget (length bytes))
        (bridle-wire--write wire bytes)
        (when (> (bridle-wire-in-flight wire) bridle-wire--window)
          (setf (bridle-wire-pinging wire) t)
          (bridle-wire--write wire "(:type :health-check)"))))))

(defun bridle-wire--write (wire payload)
  "Give PAYLOAD, a string of bytes, to the process of WIRE as one frame."
  (let* ((head (format "%06x" (length payload)))
         (frame (concat head (bridle-wire--sign wire head payload) payload))
         (process (bridle-wire-process wire)))
    (cl-incf (bridle-wire-in-flight wire) (length frame))
    (condition-case err
        (cl-loop for from from 0 below (length frame) by bridle-wire--slice
                 do (process-send-string
                     process (substring frame from (min (length frame) (+ from bridle-wire--slice)))))
      (error (bridle-wire--lost wire (error-message-string err))))))

;;;; Signatures

(defun bridle-wire-hmac (secret bytes)
  "Return the HMAC-SHA256 of BYTES under SECRET, in hex.  Both are bytes."
  (let* ((key (if (> (length secret) 64) (secure-hash 'sha256 secret nil nil t) secret))
         (key (concat key (make-string (- 64 (length key)) 0)))
         (pad (lambda (with) (apply #'unibyte-string (mapcar (lambda (byte) (logxor byte with)) key)))))
    (secure-hash 'sha256
                 (concat (funcall pad #x5c)
                         (secure-hash 'sha256 (concat (funcall pad #x36) bytes) nil nil t)))))

(defun bridle-wire--seal (wire direction counter head payload)
  "Return the signature of version 2 for a frame of WIRE.
DIRECTION is a byte, COUNTER the number of the frame, HEAD its six
digits and PAYLOAD the rest."
  (bridle-wire-hmac
   (bridle-wire-secret wire)
   (concat direction (bridle-wire-client-nonce wire) (bridle-wire-server-nonce wire)
           (apply #'unibyte-string
                  (cl-loop for shift from 56 downto 0 by 8
                           collect (logand 255 (ash counter (- shift)))))
           head payload)))

(defun bridle-wire--sign (wire head payload)
  "Return the signature of the next frame of WIRE, \"\" where none is used.
HEAD is its length in digits, PAYLOAD its bytes."
  (if (not (bridle-wire-signer wire))
      ""
    (prog1 (bridle-wire--seal wire "C" (bridle-wire-sent wire) head payload)
      (cl-incf (bridle-wire-sent wire)))))

(defun bridle-wire--verify (wire start payload)
  "Give WIRE up unless PAYLOAD, which begins at START, is signed as it must be."
  (let* ((text (with-current-buffer (bridle-wire-input wire)
                 (buffer-substring (- start 70) start)))
         (head (substring text 0 6)) (given (downcase (substring text 6)))
         (wanted (if (bridle-wire-signer wire)
                     (bridle-wire--seal wire "S" (bridle-wire-heard wire) head payload)
                   ;; The hello is signed with version 1, and begins with a blank.
                   (bridle-wire-hmac (bridle-wire-secret wire) payload))))
    (unless (and (= 0 (cl-loop for a across given for b across wanted
                               sum (logxor a b)))
                 (or (bridle-wire-signer wire) (string-prefix-p " " payload)))
      (bridle-wire--fail "bad signature"))
    (when (bridle-wire-signer wire) (cl-incf (bridle-wire-heard wire)))))

(defun bridle-wire--answer-nonce (wire payload)
  "Begin to sign WIRE with version 2; return `:auth' for the hello PAYLOAD."
  (let* ((auth (bridle-get-list payload :auth))
         (nonce (cadr (memq :nonce auth))))
    (unless (and (stringp nonce) (string-match-p "\\`[0-9a-fA-F]\\{32\\}\\'" nonce) (memq 2 auth))
      (bridle-wire--fail "this daemon does not sign with version 2"))
    (setf (bridle-wire-server-nonce wire) nonce
          (bridle-wire-client-nonce wire) (bridle-wire-random-hex 16)
          (bridle-wire-signer wire) t)
    (list :hmac 2 :key (bridle-wire-key-id wire)
          :nonce (bridle-wire-client-nonce wire) :answer nonce)))

(defun bridle-wire-random-hex (count)
  "Return COUNT bytes in hex that nobody can guess; at most 32."
  (let ((seed (format "%S" (list (random t) (float-time) (emacs-pid) (random) (user-uid)
                                 (system-name) (memory-use-counts) (random)))))
    (substring (secure-hash 'sha256 seed) 0 (* 2 count))))

;;;; Events

(defun bridle-wire-note (mark text)
  "Put MARK and the head of TEXT into the events buffer."
  (when bridle-wire-log-events
    (with-current-buffer (bridle-wire-events-buffer)
      (let ((inhibit-read-only t))
        (save-excursion
          (goto-char (point-max))
          (insert (format-time-string "%T.%3N ") mark " "
                  (replace-regexp-in-string
                   "[^[:print:]]" "·" (if (> (length text) 300) (substring text 0 300) text))
                  "\n")
          (when (> (buffer-size) bridle-wire--log-size)
            (delete-region (point-min) (/ bridle-wire--log-size 2))))))))

(defun bridle-wire-events-buffer ()
  "Return the buffer of the heads of messages."
  (or (get-buffer "*bridle-events*")
      (with-current-buffer (get-buffer-create "*bridle-events*")
        (special-mode)
        (buffer-disable-undo)
        (setq-local bidi-paragraph-direction 'left-to-right
                    truncate-lines t)
        (current-buffer))))

(provide 'bridle-wire)
;;; bridle-wire.el ends here
