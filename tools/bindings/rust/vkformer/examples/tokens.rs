//! Continues prompts of a decoder together, in ids, and prints each row's as they come:
//! `tokens MODEL_DIRECTORY PROMPT...`.

use std::env;
use std::error::Error;

use vkformer::{Context, EncodeOptions, Model, ModelOptions, Session, SessionOptions, TokenGeneration, Tokenizer};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let directory = arguments.next().ok_or("usage: tokens MODEL_DIRECTORY PROMPT...")?;
    let tokenizer = Tokenizer::load(&directory)?;
    let encode = |text: String| Ok(tokenizer.encode(&text, &EncodeOptions::default())?.ids);
    let prompts = arguments.map(encode).collect::<vkformer::Result<Vec<Vec<i32>>>>()?;

    let model = Model::load(&Context::new()?, &directory, &ModelOptions::default())?;
    let options = SessionOptions { max_batch: prompts.len() as u32, ..Default::default() };
    let mut session = Session::new(&model, &options)?; // with its caches: it may run again and again
    let generation = TokenGeneration { max_new_tokens: 12, ..Default::default() };
    let mut rows = vec![Vec::new(); prompts.len()];
    for token in session.stream(&prompts, &generation)? {
        let token = token?; // the next step runs when the next one is asked for
        rows[token.row].push(token.id);
    }
    for row in rows {
        println!("{:?} {}", row, tokenizer.decode(&row, true)?);
    }
    Ok(())
}
