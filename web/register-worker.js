// Runs in a document of its own, because the page's Trusted Types refuse the URL of a script.
navigator.serviceWorker
  .register("/service-worker.js", { updateViaCache: "none" })
  .catch(() => {
    // The hub does not answer. The page loads this again until the worker is there.
  });
