"""A job: the processes below one launcher, with one report for all of them.

  folder        the job's folder (``DEVSAN_JOB``), its owner, and that nothing stays behind
  member        this process in its job: joined with the emulation, left with the process
  numbers       which rank a process is
  record        the document of a rank, written at its start, its failure and its end
  exit_watcher  when the ranks ended, and by what
  outcome       what happened to each rank, and who was first
  ranks         what is true of each rank, and what the ranks show together
  peer_errors   the errors of a rank whose peer failed
  findings      what the ranks found, joined
  diagnosis     all of that, made once, and kept in the run files
  text          the diagnosis on a terminal
  finalize      the owner's end: everything read, said, and removed
  watchdog      closes the job of an owner that was killed
  supervisor    ``devsan run -- command``: waits for the command, to report behind it

NOTE [Who owns a job] The first process that DevSan meets makes the folder and is its owner, or the launcher's side:
``devsan run``, or the launcher itself where ``DEVSAN_OPTIONS`` reaches it. Everything below finds ``DEVSAN_JOB`` set. A
rank of an owner that lives is silent: it leaves its document, and the owner speaks for all, once. Where no process
stands above the ranks (a shell that starts each by hand), each is its own owner and reports on itself.
"""
